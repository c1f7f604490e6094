//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// writeFiles writes the results and replaces earlier files.
func (o *options) writeFiles(ctx context.Context, r *report) error {
	if err := os.MkdirAll(o.output, 0o777); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	about := tool.About(ctx)
	if len(o.prefix) > 0 {
		about = append(about, fmt.Sprintf("ranks run by %s, beside other work", strings.Join(o.prefix, " ")))
	}
	markdown := func(w io.Writer) error { return r.writeMarkdown(w, about) }
	return errors.Join(tool.Replace(o.file(".csv"), r.writeCSV), tool.Replace(o.file(".md"), markdown))
}
