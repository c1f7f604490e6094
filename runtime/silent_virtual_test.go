package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// process is the transport of a process that can be stopped. While stopped it neither sends nor
// receives, and puts to it wait.
type process struct {
	*mem.Transport
	stopped atomic.Pointer[chan struct{}]
	beyond  atomic.Uint32 // processes that do not reach this one, as bits
	frames  atomic.Int32  // it stops after this many more frames; 0: it does not stop
}

func (p *process) stop() {
	c := make(chan struct{})
	p.stopped.Store(&c)
}

func (p *process) goOn() {
	if c := p.stopped.Swap(nil); c != nil {
		close(*c)
	}
}

func (p *process) pause() {
	if c := p.stopped.Load(); c != nil {
		<-*c
	}
}

func (p *process) Poll(s wire.Sink) bool {
	p.pause()
	return p.Transport.Poll(part{s, p})
}

// part is a sink that drops frames of processes beyond the cut.
type part struct {
	wire.Sink
	p *process
}

func (s part) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if s.p.beyond.Load()>>h.From&1 != 0 {
		return nil, wire.Drop
	}
	if s.p.frames.Load() > 0 && s.p.frames.Add(-1) == 0 {
		s.p.stop()
	}
	return s.Sink.Body(h)
}

func (s part) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if s.p.beyond.Load()>>h.From&1 != 0 {
		return wire.Drop
	}
	return s.Sink.Fragment(h, offset, payload)
}

func (p *process) Wait(d time.Duration) {
	p.Transport.Wait(d)
	p.pause()
}

// family holds the communicators of a process, by name.
type family map[string]*runtime.Comm

// silence is Config.Silence in families.
const silence = time.Second

// lines are the communicators of a family, in the order in which they are made: of even and odd
// ranks, of every fourth rank, of blocks of three, and of all.
var lines = []struct {
	name, parent string
	color        func(rank int) int
}{
	{"half", "world", func(rank int) int { return rank % 2 }},
	{"quarter", "half", func(rank int) int { return rank % 4 / 2 }},
	{"block", "world", func(rank int) int { return rank / 3 }},
	{"twin", "world", func(int) int { return 0 }},
}

// families calls f with six processes and their communicators, and closes them.
func families(t *testing.T, f func(ps []*process, all []family)) {
	familiesOf(t, len(lines), mem.Options{}, f)
}

// familiesOf does so with the first n of lines, and the world.
func familiesOf(t *testing.T, made int, o mem.Options, f func(ps []*process, all []family)) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(6, o)
		require.NoError(t, err)
		var ps []*process
		for _, tr := range ts {
			ps = append(ps, &process{Transport: tr})
		}
		all := make([]family, len(ps))
		defer func() {
			for rank, p := range ps {
				p.goOn()
				for _, c := range all[rank] {
					require.NoError(t, c.Close())
				}
			}
		}()
		ranks := []int{0, 1, 2, 3, 4, 5}
		require.NoError(t, atAll(ranks, func(rank int) (err error) {
			m := family{}
			all[rank] = m
			if m["world"], err = runtime.Join(context.Background(), runtime.Config{Transport: ps[rank], Silence: silence}); err != nil {
				return err
			}
			for _, l := range lines[:made] {
				if m[l.name], err = m[l.parent].Split(context.Background(), l.color(rank), 0); err != nil {
					return err
				}
			}
			return nil
		}))
		f(ps, all)
	})
}

// atAll calls f for all given ranks at once and returns their errors.
func atAll(ranks []int, f func(rank int) error) error {
	errs := make([]error, len(ranks))
	var wg sync.WaitGroup
	for i, rank := range ranks {
		wg.Go(func() { errs[i] = f(rank) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// peers are the world ranks of a communicator of families, in their order there.
func peers(name string, rank int) (list []int) {
	for other := range 6 {
		if name == "world" || name == "twin" || name == "block" && other/3 == rank/3 ||
			name == "half" && other%2 == rank%2 || name == "quarter" && other%4 == rank%4 {
			list = append(list, other)
		}
	}
	return list
}

// anyOf reports whether list contains one of some ranks.
func anyOf(list, some []int) bool {
	return slices.ContainsFunc(list, func(rank int) bool { return slices.Contains(some, rank) })
}

// namesAll returns an error unless err, of a rank's communicator, names exactly the members that
// have been silent.
func namesAll(err error, name string, rank int, silent []int) error {
	var want []int
	for i, other := range peers(name, rank) {
		if slices.Contains(silent, other) {
			want = append(want, i)
		}
	}
	var lost *runtime.LostError
	if !errors.As(err, &lost) || !slices.Equal(want, lost.Ranks) || !errors.Is(err, runtime.ErrPeerSilent) || errors.Is(err, runtime.ErrMismatch) {
		return fmt.Errorf("%s of rank %d: want ranks %v lost, got %w", name, rank, want, err)
	}
	return nil
}

// If one communicator of a process finds that ranks are silent, all communicators with these ranks
// fail, at all processes: a program that turns to another communicator hears of the same ranks.
// Communicators without these ranks work.
func TestSilenceFailsAllCommunicatorsOfTheRank(t *testing.T) {
	for _, finder := range []string{"half", "quarter", "block", "twin", "world"} {
		for _, silent := range [][]int{{4}, {2}, {4, 5}, {0, 4}} {
			t.Run(fmt.Sprint(finder, silent), func(t *testing.T) {
				families(t, func(ps []*process, all []family) { findSilent(t, ps, all, finder, silent) })
			})
		}
	}
}

// findSilent stops ranks, has their peers in one communicator find it, and checks all others.
func findSilent(t *testing.T, ps []*process, all []family, finder string, silent []int) {
	ctx := context.Background()
	var left, finders []int
	for rank := range ps {
		if slices.Contains(silent, rank) {
			ps[rank].stop()
			continue
		}
		left = append(left, rank)
		if anyOf(peers(finder, rank), silent) {
			finders = append(finders, rank)
		}
	}
	if len(finders) == 0 {
		return // all ranks that could find it are silent, too
	}
	// The finders then turn to the world, with another call than the others, which compute
	// meanwhile.
	require.NoError(t, atAll(finders, func(rank int) error {
		found := all[rank][finder].Barrier(ctx)
		if !errors.Is(found, runtime.ErrPeerSilent) {
			return fmt.Errorf("rank %d does not find it: %w", rank, found)
		}
		return namesAll(all[rank]["world"].Bcast(ctx, make([]byte, 10), 1), "world", rank, silent)
	}))
	require.NoError(t, atAll(left, func(rank int) error {
		return namesAll(all[rank]["world"].Barrier(ctx), "world", rank, silent)
	}))
	time.Sleep(3 * silence) // the backgrounds agree in the other communicators
	for _, rank := range left {
		for name, c := range all[rank] {
			if anyOf(peers(name, rank), silent) {
				require.NoError(t, namesAll(c.Err(), name, rank, silent))
			} else {
				require.NoError(t, c.Err(), "%s of rank %d", name, rank)
			}
		}
	}
	require.NoError(t, atAll(left, func(rank int) error {
		shrunk, err := all[rank]["world"].Shrink(ctx)
		if err != nil {
			return err
		}
		return errors.Join(shrunk.Barrier(ctx), shrunk.Close())
	}), "those that are left go on")

	for _, rank := range silent {
		ps[rank].goOn()
	}
	time.Sleep(silence)
	for _, rank := range silent {
		for name, c := range all[rank] {
			if c.Size() == 1 {
				require.NoError(t, c.Barrier(ctx))
				continue
			}
			err := c.Barrier(ctx)
			var about *runtime.RankError
			require.ErrorIs(t, err, runtime.ErrPeerLost, "%s of rank %d", name, rank)
			require.ErrorAs(t, err, &about)
			require.Equal(t, c.Rank(), about.Rank, "%s of rank %d is told that it was lost: %v", name, rank, err)
			_, err = c.Shrink(ctx)
			require.ErrorIs(t, err, runtime.ErrPeerLost, "%s of rank %d does not go on alone", name, rank)
		}
	}
}

// If ranks fall silent while communicators are made, that fails at all ranks. The remaining ranks
// go on without them, however many have their new communicator already. Ranks of the new
// communicator have other numbers than in the one that is split.
func TestSilenceInsideSplit(t *testing.T) {
	for frames := int32(1); frames <= 12; frames++ {
		for _, silent := range [][]int{{1}, {1, 3}, {1, 5}, {0, 3}, {2, 4}, {0, 1}} {
			t.Run(fmt.Sprint(frames, silent), func(t *testing.T) {
				o := mem.Options{Seed: uint64(frames), Delay: 50 * time.Millisecond}
				familiesOf(t, 0, o, func(ps []*process, all []family) { silentInsideSplit(t, ps, all, frames, silent) })
			})
		}
	}
}

// silentInsideSplit stops splitting ranks after a number of frames has reached them.
func silentInsideSplit(t *testing.T, ps []*process, all []family, frames int32, silent []int) {
	ctx := context.Background()
	var left []int
	for rank := range ps {
		if slices.Contains(silent, rank) {
			ps[rank].frames.Store(frames)
		} else {
			left = append(left, rank)
		}
	}
	split := func(rank int) error {
		half, err := all[rank]["world"].Split(ctx, rank%2, 0)
		if half != nil {
			all[rank]["half"] = half
		}
		return err
	}
	var wg sync.WaitGroup
	for _, rank := range silent {
		wg.Go(func() { _ = split(rank) }) // it hears that it was lost, if it has stopped inside
	}
	_ = atAll(left, split) // fails where the silent ranks were needed
	require.NoError(t, atAll(left, func(rank int) error {
		return namesAll(all[rank]["world"].Barrier(ctx), "world", rank, silent)
	}))
	require.NoError(t, atAll(left, func(rank int) error {
		shrunk, err := all[rank]["world"].Shrink(ctx)
		if err != nil {
			return err
		}
		return errors.Join(shrunk.Barrier(ctx), shrunk.Close())
	}), "those that are left go on")
	for _, rank := range silent {
		ps[rank].goOn()
	}
	wg.Wait()
}

// If the network is cut, all communicators across the cut fail, and each part goes on without the
// other, whichever communicators are in use.
func TestCutFailsAllCommunicatorsAcross(t *testing.T) {
	for _, finder := range []string{"half", "quarter", "block", "world"} {
		for side := uint32(1); side < 1<<5; side++ {
			t.Run(fmt.Sprintf("%s/%06b", finder, side), func(t *testing.T) {
				families(t, func(ps []*process, all []family) { cut(t, ps, all, finder, side) })
			})
		}
	}
}

func cut(t *testing.T, ps []*process, all []family, finder string, side uint32) {
	ctx := context.Background()
	var parts [2][]int
	for rank, p := range ps {
		mine := side >> rank & 1
		parts[mine] = append(parts[mine], rank)
		p.beyond.Store([2]uint32{side, ^side}[mine])
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, own := range parts {
		others := parts[1-i]
		wg.Go(func() {
			errs[i] = atAll(own, func(rank int) error {
				m := all[rank]
				for turns := 30; turns > 0 && m["world"].Err() == nil && m[finder].Barrier(ctx) == nil; turns-- {
					time.Sleep(silence / 10)
				}
				if err := namesAll(m["world"].Barrier(ctx), "world", rank, others); err != nil {
					return err
				}
				shrunk, err := m["world"].Shrink(ctx)
				if err != nil {
					return err
				}
				return errors.Join(shrunk.Barrier(ctx), shrunk.Close())
			})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
