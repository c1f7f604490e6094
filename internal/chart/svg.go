package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
)

// WriteSVG writes a picture of the given size in pixels, with a white ground. draw adds the elements.
func WriteSVG(w io.Writer, width, height float64, fontSize int, draw func(*bytes.Buffer)) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="sans-serif" font-size="%d">`+"\n",
		width, height, width, height, fontSize)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", width, height)
	draw(&b)
	fmt.Fprintln(&b, "</svg>")
	_, err := w.Write(b.Bytes())
	return err
}

// Escape escapes text for XML.
func Escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // never fails on a buffer
	return b.String()
}
