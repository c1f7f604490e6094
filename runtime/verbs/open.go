//go:build verbs && linux && cgo

package verbs

import (
	"github.com/schedgen/schedgen/runtime/internal/rdma"
	"github.com/schedgen/schedgen/runtime/verbs/internal/ibv"
)

func open(cfg *Config, layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
	p, err := cfg.port()
	if err != nil {
		return nil, err
	}
	return ibv.Open(p, layout)
}

// Check reports why no port can be opened, nil if one can.
func Check(cfg Config) error {
	p, err := cfg.port()
	if err != nil {
		return err
	}
	return ibv.Check(p)
}
