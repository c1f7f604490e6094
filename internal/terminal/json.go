package terminal

import (
	"encoding/json"
	"io"
)

// WriteJSON prints v and a line break, without escapes for HTML. indent is the text by which each
// level is indented, or "" for a single line.
func WriteJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
