package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/schedgen/schedgen/bench/internal/tool"
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
		if err := tool.Replace(filepath.Join(o.output, o.name+"."+extension), write); err != nil {
			return err
		}
	}
	return nil
}
