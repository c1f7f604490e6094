package mem_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestComm(t *testing.T) {
	overNetworks(t, transporttest.CommVirtual, "lossy", "windows")
	if !testing.Short() {
		overNetworks(t, transporttest.CommSampleVirtual, "all lost", "narrow", "no datagram")
	}
}

func TestCollectives(t *testing.T) { overNetworks(t, transporttest.CollectivesVirtual, "lossy") }

// Networks for Split differ in their losses and in whether they have windows. None delays frames: in
// virtual time, a Split that repeats its exchange by flags would never let a delayed frame arrive.
func TestSplit(t *testing.T) {
	overNetworks(t, transporttest.SplitVirtual, "perfect", "lossy", "prompt windows")
}

// overNetworks runs a suite over some kinds of networks, without the perfect one if time is short.
func overNetworks(t *testing.T, suite func(*testing.T, transporttest.Make), kinds ...string) {
	networks := map[string]mem.Options{
		"perfect":        {},
		"lossy":          {Seed: 1, Loss: 0.3, Duplicate: 0.1, Reorder: 0.2},
		"all lost":       {Seed: 2, Loss: 1},
		"narrow":         {Seed: 4, Link: 1, LinkBytes: 1, Queue: 1, Datagram: 100},
		"no datagram":    {Seed: 5, NoMulticast: true},
		"windows":        {Seed: 6, Windows: true, Loss: 0.1, Delay: 100 * time.Microsecond},
		"prompt windows": {Seed: 6, Windows: true, Loss: 0.1},
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

// wide connects ranks that can hold many datagrams.
func wide(t testing.TB, size int) []wire.Transport {
	ts, err := mem.New(size, mem.Options{Queue: 1 << 16, Windows: true})
	require.NoError(t, err)
	return mem.Transports(ts)
}

// A network takes a while until multicasts to a group reach a rank that has joined. Split waits
// that long, so that no first multicast is lost.
func TestSlowJoins(t *testing.T) {
	splits(t, 6, mem.Options{JoinDelay: 3 * time.Millisecond}, 20, func(t *testing.T, c *runtime.Comm) {
		require.NotEmpty(t, c.State().Group)
		require.Zero(t, c.Totals().PutChunks, "chunks that were put as their multicasts were lost")
	})
}

// If ranks can join few groups, further communicators share the group of all ranks.
func TestFewGroups(t *testing.T) {
	for groups, want := range map[int]int{1: 1, -1: 0} {
		apart := 0
		splits(t, 4, mem.Options{Groups: groups}, 3, func(t *testing.T, c *runtime.Comm) {
			s := c.State()
			require.NotEqual(t, s.Group == "", s.Shared == "", "%q, %q", s.Group, s.Shared)
			if s.Group != "" {
				apart++
			}
		})
		require.Equal(t, 4*want, apart)
	}
}

// splits splits a communicator by parity times times, broadcasts in each half, and calls look with
// each new communicator. Time is virtual: no repair comes before its time.
func splits(t *testing.T, size int, o mem.Options, times int, look func(t *testing.T, c *runtime.Comm)) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(size, o)
		require.NoError(t, err)
		comms := make([]*runtime.Comm, len(ts))
		children := make([][]*runtime.Comm, len(ts))
		var wg sync.WaitGroup
		for rank, tr := range ts {
			wg.Go(func() {
				var err error
				cfg := runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}, Repair: 100 * time.Millisecond}
				comms[rank], err = runtime.Join(t.Context(), cfg)
				for range times {
					var c *runtime.Comm
					if err == nil {
						c, err = comms[rank].Split(t.Context(), rank%2, 0)
					}
					if err == nil {
						err = c.Bcast(t.Context(), make([]byte, 20_000), 0)
					}
					children[rank] = append(children[rank], c)
				}
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		require.False(t, t.Failed())
		for rank, c := range comms {
			for _, child := range children[rank] {
				look(t, child)
			}
			defer c.Close()
			for _, child := range children[rank] {
				defer child.Close()
			}
		}
	})
}
