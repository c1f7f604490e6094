package complete

import (
	"embed"
	"path"
	"strings"
)

//go:embed scripts
var scripts embed.FS

// Shells returns the names of the shells that there are scripts for.
func Shells() []string {
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		return nil // they are part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(path.Ext(e.Name()), "."))
	}
	return names
}

// Script returns the script that teaches a shell to complete.
func Script(shell string) (string, error) {
	text, err := scripts.ReadFile("scripts/schedgen." + shell)
	return string(text), err
}
