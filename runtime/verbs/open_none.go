//go:build !verbs || !linux || !cgo

package verbs

import "github.com/schedgen/schedgen/runtime/internal/rdma"

func open(*Config, func(rdma.Address) rdma.Layout) (rdma.Adapter, error) { return nil, ErrNotBuilt }

// Check reports why no port can be opened, nil if one can.
func Check(Config) error { return ErrNotBuilt }
