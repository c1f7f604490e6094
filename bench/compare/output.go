package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeAll prints the table, and writes the files.
func writeAll(o *options, r *results, stdout io.Writer) error {
	if o.against == "" {
		if err := r.writeMarkdown(stdout, o.name); err != nil {
			return err
		}
	}
	if o.output == "" {
		return nil
	}
	if err := os.MkdirAll(o.output, 0o777); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	markdown := func(w io.Writer) error { return r.writeMarkdown(w, o.name) }
	for extension, write := range map[string]func(io.Writer) error{
		"csv": r.writeCSV, "md": markdown, "svg": r.writeSVG,
	} {
		if err := writeFile(filepath.Join(o.output, o.name+"."+extension), write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
