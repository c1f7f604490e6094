package mpi

import (
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	for _, source := range sources {
		names = append(names, source.Name())
		f, err := includes.Open("include/" + source.Name())
		if err != nil {
			return nil, err
		}
		if err := replaceFile(filepath.Join(dir, source.Name()), f); err != nil {
			return nil, err
		}
	}
	for name, path := range map[string]string{"libschedgen.so": l.Path, "libschedgen-go.so": goEngine} {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if err := replaceFile(filepath.Join(dir, name), f); err != nil {
			return nil, err
		}
	}
	return append(names, "libschedgen.so", "libschedgen-go.so"), nil
}

// replaceFile writes a file whole, with the content of from, and closes from. Programs that have
// loaded the file before keep what they have loaded.
func replaceFile(path string, from fs.File) error {
	to, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.Copy(to, from)
	err = errors.Join(err, to.Chmod(0o755), to.Close(), from.Close())
	if err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(to.Name()))
	}
	return err
}
