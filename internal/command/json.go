package command

import (
	"encoding/json"
	"io"
)

// WriteJSON prints v and a line break, without escapes for HTML.
func WriteJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
