package transporttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Using returns the transports of with, for which communicators in [Comm] use the schedules that
// find returns for their configuration. So the suite tests generated code too.
func Using(with Make, find func(cfg runtime.Config) []*machine.Schedule) Make {
	return func(t testing.TB, size int) []wire.Transport {
		list := with(t, size)
		for i, tr := range list {
			list[i] = using{tr, find}
		}
		return list
	}
}

type using struct {
	wire.Transport
	find func(cfg runtime.Config) []*machine.Schedule
}

// use gives c the schedules of its transport.
func use(t testing.TB, c *runtime.Comm, cfg runtime.Config) {
	if m, ok := cfg.Transport.(mortal); ok {
		cfg.Transport = m.Transport
	}
	u, ok := cfg.Transport.(using)
	if !ok {
		return
	}
	for _, s := range u.find(cfg) {
		require.NoError(t, c.Use(s))
	}
}
