package mpi

import (
	"embed"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/schedgen/schedgen/internal/outfile"
)

//go:embed include
var includes embed.FS

// WriteHeader writes to a folder, which it makes if it is missing, what programs need that call the
// library: schedgen.h, schedgen.f90 with the same for Fortran, and copies of the library l and of
// the engine go at goEngine, which stays beside the library. Files with these names are replaced.
// It returns the names of the files.
func WriteHeader(dir string, l *Library, goEngine string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	sources, err := fs.ReadDir(includes, "include")
	if err != nil {
		return nil, err
	}
	var names []string
	write := func(name string, from io.ReadCloser, err error) error {
		if err != nil {
			return err
		}
		defer from.Close() // read only: nothing to lose
		names = append(names, name)
		return outfile.Write(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
	}
	for _, source := range sources {
		f, err := includes.Open("include/" + source.Name())
		if err := write(source.Name(), f, err); err != nil {
			return nil, err
		}
	}
	for _, library := range []struct{ name, path string }{{"libschedgen.so", l.Path}, {"libschedgen-go.so", goEngine}} {
		f, err := os.Open(library.path)
		if err := write(library.name, f, err); err != nil {
			return nil, err
		}
	}
	return names, nil
}
