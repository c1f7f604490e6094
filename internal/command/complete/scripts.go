package complete

import (
	"embed"
	"path"
	"strings"
)

//go:embed scripts
var scripts embed.FS

// Shells returns the names of the shells that have a script.
func Shells() []string {
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		return nil // never happens: the scripts are part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(path.Ext(e.Name()), "."))
	}
	return names
}

// Script returns the script that makes a shell complete the command lines of a program. The error
// says that the shell has none.
func Script(shell, program string) (string, error) {
	text, err := scripts.ReadFile("scripts/schedgen." + shell)
	return strings.ReplaceAll(string(text), "schedgen", program), err
}
