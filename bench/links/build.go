//go:build linux

package main

import (
	"context"
	"fmt"
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
	root, err := tool.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "schedgen-links-")
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	b := &built{dir, filepath.Join(dir, "schedgen"), filepath.Join(dir, "netns")}
	for out, pkg := range map[string]string{b.schedgen: "./cmd/schedgen", b.netns: "./bench/netns"} {
		if err := tool.Execute(ctx, stderr, "go", "build", "-C", root, "-o", out, pkg); err != nil {
			b.remove()
			return nil, err
		}
	}
	return b, nil
}

func (b *built) remove() { _ = os.RemoveAll(b.dir) } // temporary, and the system's in the end
