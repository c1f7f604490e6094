package mem_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestComm(t *testing.T) {
	all, some := []string{"lossy"}, []string{"perfect", "windows", "all lost", "narrow", "no datagram"}
	if heavy.Tests() {
		all, some = slices.Concat(all, some), nil
	}
	overNetworks(t, transporttest.Comm, all...)
	if !testing.Short() {
		overNetworks(t, transporttest.CommSample, some...)
	}
	if transporttest.Brief() { // for all transports
		overNetworks(t, transporttest.CommItself, "lossy")
	}
}

// The networks that a Split meets differ in what they lose and in whether they have windows.
func TestSplit(t *testing.T) {
	overNetworks(t, transporttest.Split, "perfect", "lossy", "windows")
}

// overNetworks runs a suite over networks of some kinds, without the perfect one if time is short.
func overNetworks(t *testing.T, suite func(*testing.T, transporttest.Make), kinds ...string) {
	networks := map[string]mem.Options{
		"perfect":     {},
		"lossy":       {Seed: 1, Loss: 0.3, Duplicate: 0.1, Reorder: 0.2},
		"all lost":    {Seed: 2, Loss: 1},
		"narrow":      {Seed: 4, Link: 1, LinkBytes: 1, Queue: 1, Datagram: 100},
		"no datagram": {Seed: 5, NoMulticast: true},
		"windows":     {Seed: 6, Windows: true, Loss: 0.1, Delay: 100 * time.Microsecond},
	}
	for name, o := range networks {
		if testing.Short() && name == "perfect" || !slices.Contains(kinds, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			suite(t, func(t testing.TB, size int) []wire.Transport {
				ts, err := mem.New(size, o)
				require.NoError(t, err)
				return mem.Transports(ts)
			})
		})
	}
}

func TestFrames(t *testing.T) { transporttest.Frames(t, wide) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, wide) }

// wide connects ranks that hold many datagrams.
func wide(t testing.TB, size int) []wire.Transport {
	ts, err := mem.New(size, mem.Options{Queue: 1 << 16, Windows: true})
	require.NoError(t, err)
	return mem.Transports(ts)
}
