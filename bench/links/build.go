//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// built holds the programs to run.
type built struct {
	dir             string
	schedgen, netns string
}

func build(ctx context.Context, stderr io.Writer) (*built, error) {
	dir, err := tool.Build(ctx, stderr, "links", "./cmd/schedgen", "./bench/netns")
	if err != nil {
		return nil, err
	}
	return &built{dir, filepath.Join(dir, "schedgen"), filepath.Join(dir, "netns")}, nil
}

func (b *built) remove() { _ = os.RemoveAll(b.dir) } // temporary, and the system's in the end
