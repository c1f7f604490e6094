//go:build !verbs || !linux || !cgo

package verbs

import "github.com/schedgen/schedgen/runtime/internal/rdma"

func open(cfg *Config, _ func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
	return nil, Check(*cfg)
}

// Check reports why no port can be opened, nil if one can.
func Check(cfg Config) error {
	if _, err := cfg.port(); err != nil {
		return err
	}
	return ErrNotBuilt
}
