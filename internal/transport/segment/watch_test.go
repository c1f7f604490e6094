//go:build linux

package segment

import (
	"bytes"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/wire"
)

// log is a sink that records the lost ranks.
type log struct{ lost map[int]error }

func newLog() *log { return &log{lost: map[int]error{}} }

func (*log) Body(*wire.Header) ([]byte, wire.Verdict)        { return nil, wire.Accept }
func (*log) Arrived(*wire.Header, []byte)                    {}
func (*log) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (s *log) Ended(rank int, how wire.End, err error) {
	if how != wire.Closed {
		s.lost[rank] = err
	}
}

// besides returns rank 0 of two. The other rank claims to be the process of cmd, which is running.
func besides(t *testing.T, cmd *exec.Cmd, c clock.Clock, kick func(int)) *Transport {
	f, err := Create(2)
	require.NoError(t, err)
	s, err := attach(f, 2)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	born, err := started(cmd.Process.Pid)
	require.NoError(t, err)
	*s.rank(1) = rankLine{state: stateJoined, pid: uint32(cmd.Process.Pid), start: born}
	tr := newTransport(s, 0, c, kick)
	t.Cleanup(func() { require.NoError(t, tr.Close(false, 0)) })
	return tr
}

// If the system does not report the end of a process, the next check notices it. A check comes
// after a number of polls, or after a Wait without a wake-up, but not before checkEvery/2 has
// passed.
func TestDeathIsSeenAtTheNextLook(t *testing.T) {
	for name, idle := range map[string]func(*Transport, *log){
		"polls": func(tr *Transport, s *log) {
			for range idlePolls {
				tr.Poll(s)
			}
		},
		"a wait": func(tr *Transport, s *log) {
			tr.park.lapsed.Store(true)
			tr.Poll(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var time clock.Manual
			cmd, end := startCat(t)
			tr, s := besides(t, cmd, &time, nil), newLog()
			tr.watch.close()
			tr.watch.told, tr.watch.processes[1].Fd = false, -1
			require.EqualValues(t, checkEvery, tr.limit(-1))
			look := func() error {
				idle(tr, s)
				tr.Poll(s) // reports what the check has found
				return s.lost[1]
			}
			time.Advance(checkEvery)
			require.NoError(t, look())
			end()
			time.Advance(checkEvery/2 - 1)
			require.NoError(t, look())
			time.Advance(1)
			require.ErrorIs(t, look(), errDied)
		})
	}
}

// A process that ends wakes a rank that waits without a limit, here or elsewhere.
func TestDeathWakes(t *testing.T) {
	t.Run("parked", func(t *testing.T) {
		cmd, end := startCat(t)
		tr, s := besides(t, cmd, clock.System{}, nil), newLog()
		require.True(t, tr.watch.told)
		time.AfterFunc(20*time.Millisecond, end)
		for s.lost[1] == nil {
			if !tr.Poll(s) {
				tr.Wait(-1)
			}
		}
		require.ErrorIs(t, s.lost[1], errDied)
	})
	t.Run("away", func(t *testing.T) {
		cmd, end := startCat(t)
		kicked := make(chan int, 1)
		tr, s := besides(t, cmd, clock.System{}, func(rank int) { kicked <- rank }), newLog()
		for {
			tr.Poll(s)
			if limit, ok := tr.Away(-1); ok {
				require.Negative(t, limit)
				break
			}
		}
		end()
		require.Zero(t, <-kicked)
		tr.Back()
		for s.lost[1] == nil {
			tr.Poll(s)
		}
	})
}

// startCat starts a process, and returns a function that ends it.
func startCat(t *testing.T) (cmd *exec.Cmd, end func()) {
	cmd = exec.Command("cat")
	hold, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, sync.OnceFunc(func() {
		assert.NoError(t, hold.Close())
		assert.NoError(t, cmd.Wait())
	})
}

// pair joins two ranks of this process.
func pair(t *testing.T) (trs [2]*Transport) {
	f, err := Create(2)
	require.NoError(t, err)
	var errs [2]error
	var wg sync.WaitGroup
	for rank := range trs {
		wg.Go(func() {
			trs[rank], errs[rank] = Join(t.Context(), Config{Options: Options{Rank: rank, Size: 2, File: f}})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs[0], errs[1], f.Close()))
	t.Cleanup(func() {
		for _, tr := range trs {
			require.NoError(t, tr.Close(false, 0))
		}
	})
	return trs
}

// A multicast waits for a late reader for the time grace, from when it found no room, and not again
// before the reader has advanced.
func TestGraceForReaders(t *testing.T) {
	trs := pair(t)
	var time clock.Manual
	sender, reader := trs[0], trs[1]
	sender.clock = &time
	body := bytes.Repeat([]byte("x"), sender.gram)
	left := 0
	fill := func() {
		for range 2 * len(sender.mine.starts) {
			left++
			sender.Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Len: len(body)}, Body: body, Unsent: &left})
		}
	}
	fill()
	full := left
	require.Positive(t, full)
	time.Advance(grace - 1)
	sender.Poll(newLog())
	require.Equal(t, full, left, "there is time to read still")
	time.Advance(1)
	sender.Poll(newLog())
	require.Zero(t, left, "who has not read by now is overtaken")
	fill()
	require.Zero(t, left, "nor is it waited for again")

	for reader.Poll(newLog()) {
	}
	fill()
	require.Equal(t, full, left, "it keeps up again")
	time.Advance(grace)
	sender.Poll(newLog())
	require.Zero(t, left)
}

// Every message wakes a rank that parks without a limit. If one did not, nothing else would.
func TestNoWakeUpIsLost(t *testing.T) {
	trs := pair(t)
	var wg sync.WaitGroup
	for rank, tr := range trs {
		tr.park.yields = 0
		wg.Go(func() {
			s := &counter{log: newLog()}
			for n := range heavy.Or(20_000, 1_000_000) {
				if rank == n%2 {
					tr.Put(1-rank, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
				}
				for want := (n + 1 + rank) / 2; s.arrived < want; {
					if !tr.Poll(s) {
						tr.Wait(-1)
					}
				}
			}
		})
	}
	wg.Wait()
}

// counter counts the frames that arrive.
type counter struct {
	*log
	arrived int
}

func (s *counter) Arrived(*wire.Header, []byte) { s.arrived++ }
