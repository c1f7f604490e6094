//go:build !verbs || !linux || !cgo

package verbs

import "github.com/schedgen/schedgen/internal/transport/rdma"

func open(cfg *Config, _ func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
	return nil, Check(*cfg)
}

// Check returns an error if no port can be opened for cfg.
func Check(cfg Config) error {
	if _, err := cfg.port(); err != nil {
		return err
	}
	return ErrNotBuilt
}
