package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Whoever is dead can't pass on that another is: those that it would have told
// learn it all the same.
func TestDeathIsLearntByAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(rt, "ranks")
		dead := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(3, size-1), rapid.ID).Draw(rt, "dead")
		name := rapid.SampledFrom([]string{"barrier/hsb", "barrier/dissemination", "barrier/exchange"}).Draw(rt, "barrier")
		cfg := runtime.Config{Barrier: runtime.Algorithm{Name: name}}
		wrap := func(rank int, tr wire.Transport) wire.Transport {
			if slices.Contains(dead, rank) {
				return tomb{tr}
			}
			return &mourner{Transport: tr, dead: dead}
		}
		virtual(t, size, mem.Options{}, cfg, wrap, func(comms []*runtime.Comm) {
			errs := make([]error, size)
			_ = each(comms, func(c *runtime.Comm) error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				if !slices.Contains(dead, c.Rank()) {
					errs[c.Rank()] = c.Barrier(ctx)
				}
				return nil
			})
			for rank, err := range errs {
				known := errors.Is(err, runtime.ErrPeerLost) || errors.Is(err, runtime.ErrAborted)
				require.Equal(t, !slices.Contains(dead, rank), known, fmt.Sprintf("rank %d: %v", rank, err))
			}
		})
	})
}

// Who finds a rank dead tells those whom the dead would have told, at once.
func TestDeathIsToldAroundTheDead(t *testing.T) {
	for _, dead := range []int{1, 2, 4, 10} {
		wrap := func(rank int, tr wire.Transport) wire.Transport {
			switch rank {
			case dead:
				return tomb{tr}
			case 0:
				return &mourner{Transport: tr, found: []int{dead}}
			}
			return tr
		}
		virtual(t, 11, mem.Options{}, runtime.Config{Stall: time.Hour}, wrap, func(comms []*runtime.Comm) {
			start := time.Now()
			err := each(append(comms[:dead:dead], comms[dead+1:]...), func(c *runtime.Comm) error {
				if err := c.Barrier(context.Background()); errors.Is(err, runtime.ErrPeerLost) || errors.Is(err, runtime.ErrAborted) {
					return nil
				}
				return fmt.Errorf("rank %d does not know", c.Rank())
			})
			require.NoError(t, err)
			require.Less(t, time.Since(start), time.Minute)
		})
	}
}

// tomb is the transport of a rank that has died.
type tomb struct{ wire.Transport }

func (tomb) Put(_ int, f *wire.Frame) {
	if f.Unsent != nil {
		*f.Unsent--
	}
}

func (tomb) Poll(wire.Sink) bool { return false }

// mourner finds a rank dead when it puts something there.
type mourner struct {
	wire.Transport
	dead  []int
	found []int
}

func (m *mourner) Put(to int, f *wire.Frame) {
	if slices.Contains(m.dead, to) {
		m.found = append(m.found, to)
	}
	m.Transport.Put(to, f)
}

func (m *mourner) Poll(s wire.Sink) bool {
	found := m.found
	m.found = nil
	for _, rank := range found {
		s.Ended(rank, wire.Broken, errors.New("it is dead"))
	}
	return m.Transport.Poll(s) || len(found) > 0
}
