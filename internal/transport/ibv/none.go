//go:build !verbs || !linux || !cgo

package ibv

import "github.com/schedgen/schedgen/internal/transport/rdma"

// Open fails with ErrNotBuilt.
func Open(Config, func(rdma.Address) rdma.Layout) (rdma.Adapter, error) { return nil, ErrNotBuilt }

// Check returns ErrNotBuilt.
func Check(Config) error { return ErrNotBuilt }
