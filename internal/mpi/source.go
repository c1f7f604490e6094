package mpi

import (
	"embed"
	"io/fs"

	"github.com/schedgen/schedgen/internal/engine"
)

//go:embed src
var files embed.FS

// sources returns the files of the library by name. The compiler gets library.c.
func sources() (map[string][]byte, error) {
	all := map[string][]byte{"interpreter.h": []byte(engine.Interpreter)}
	names, err := fs.ReadDir(files, "src")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile("src/" + name.Name())
		if err != nil {
			return nil, err
		}
		all[name.Name()] = text
	}
	return all, nil
}
