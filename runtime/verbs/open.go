//go:build verbs && linux && cgo

package verbs

import (
	"github.com/schedgen/schedgen/internal/transport/rdma"
	"github.com/schedgen/schedgen/runtime/verbs/internal/ibv"
)

func open(cfg *Config, layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
	p, err := cfg.port()
	if err != nil {
		return nil, err
	}
	return ibv.Open(p, layout)
}

// Check returns an error if no port can be opened for cfg.
func Check(cfg Config) error {
	p, err := cfg.port()
	if err != nil {
		return err
	}
	return ibv.Check(p)
}
