package source

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// HeaderLine spells a header as the text form does, without the word "schedule".
func HeaderLine(h *ir.Header) string {
	parts := []string{h.Name(), fmt.Sprintf("ranks=%d", h.Ranks)}
	if h.Rooted() {
		parts = append(parts, fmt.Sprintf("root=%d", h.Root))
	}
	if h.Chunks > 0 {
		parts = append(parts, fmt.Sprintf("chunks=%d", h.Chunks))
	}
	return strings.Join(append(parts, ParamWords(h)...), " ")
}

func ParamWords(h *ir.Header) []string {
	var out []string
	for _, p := range h.Params {
		out = append(out, fmt.Sprintf("%s=%d", p.Name, p.Value))
	}
	return out
}

// ParamObject returns the parameters of a header by name.
func ParamObject(h *ir.Header) map[string]int {
	out := map[string]int{}
	for _, p := range h.Params {
		out[p.Name] = p.Value
	}
	return out
}
