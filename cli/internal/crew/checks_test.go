package crew

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/schedule"
)

// blockRows returns the collectives that move or fold blocks, other than broadcasts.
func blockRows() []ir.Collective {
	return slices.DeleteFunc(ir.Collectives(), func(row ir.Collective) bool {
		return row.Blocks == nil || row.Published || row.Broadcasts()
	})
}

// TestRootCause checks the order of causes: a process that died, an error of the rank itself, no
// answer, the time being over, the loss of another rank, and an aborted run.
func TestRootCause(t *testing.T) {
	aborted := newFailure(0, &runtime.RankError{Rank: 3, Err: runtime.ErrAborted})
	lost := newFailure(1, &runtime.RankError{Rank: 3, Err: runtime.ErrPeerLost})
	own := newFailure(2, io.ErrShortWrite)
	died := &failure{Rank: 3, Cause: causeDied, Text: "killed"}

	err := rootCause([]*failure{aborted, lost, own, died})
	require.False(t, err.(*Error).BadInput())
	require.Equal(t, "rank 3: killed\n3 other ranks gave up with it", err.Error())
	require.Equal(t, "rank 2: short write\n2 other ranks gave up with it", rootCause([]*failure{lost, aborted, own}).Error())
	require.Contains(t, rootCause([]*failure{aborted, lost}).Error(), "rank 1: ")

	late := newFailure(4, fmt.Errorf("barrier: %w", &timeError{"not finished"}))
	mute := &failure{Rank: 5, Cause: causeMute, Text: "killed"}
	require.Contains(t, rootCause([]*failure{late, mute, aborted}).Error(), "rank 5: killed\n2 other")
	require.Contains(t, rootCause([]*failure{late, mute, own}).Error(), "rank 2: short write\n2 other")
	require.Contains(t, rootCause([]*failure{aborted, lost, late}).Error(), "rank 4: barrier: not finished\n2 other")

	bad := newFailure(5, InputError{os.ErrNotExist})
	require.True(t, rootCause([]*failure{bad, aborted}).(*Error).BadInput())
	require.NoError(t, rootCause(nil))
}

func TestMessageFindsAChangedByte(t *testing.T) {
	buf := bytes.Repeat([]byte{7}, 1000)
	m := &message{&Job{Sum: hexSum(buf)}, buf}
	var wrong Findings
	m.check(&wrong, 0)
	require.Zero(t, wrong)
	buf[999] ^= 1
	m.check(&wrong, 4)
	m.check(&wrong, 5)
	require.Equal(t, 2, wrong.Count)
	require.Contains(t, wrong.First, "iteration 5:")
}

// TestSpoil checks that all bytes are overwritten, with another byte in each iteration.
func TestSpoil(t *testing.T) {
	buf := make([]byte, 1001)
	seen := map[string]bool{}
	for i := -1; i < 4; i++ {
		spoil(buf, i)
		require.Equal(t, 1001, bytes.Count(buf, buf[:1]), "all bytes are overwritten")
		require.False(t, seen[string(buf)], "and differ from those of the iterations before")
		seen[string(buf)] = true
	}
	spoil(nil, 0)
}

func TestCountersFindAnEarlyLeaver(t *testing.T) {
	f, err := counterFile(3)
	require.NoError(t, err)
	c, err := mapCounters(f, 3)
	require.NoError(t, err)
	var wrong Findings
	all := []entries{{c, 0}, {c, 1}, {c, 2}}
	for _, e := range all {
		e.prepare(6)
	}
	all[1].check(&wrong, 6)
	require.Zero(t, wrong)
	all[1].prepare(7)
	all[2].prepare(7)
	all[1].check(&wrong, 7)
	require.Equal(t, 1, wrong.Count)
	require.Equal(t, "rank 1 left barrier 8 before rank 0 had entered it (it had entered 7)", wrong.First)
}

func TestReceiverFindsWhatIsWrong(t *testing.T) {
	j := &Job{Rank: 0, Messages: 3, Size: 100, Seed: 5, Params: schedule.Params{Ranks: 3}}
	msg := func(origin, n int) runtime.Message {
		return runtime.Message{Origin: origin, Seq: uint64(n), Data: bytes.Clone(newPayload(j).make(origin, n))}
	}
	good := []runtime.Message{msg(1, 0), msg(2, 0), msg(2, 1), msg(1, 1), msg(1, 2), msg(2, 2)}
	changed := msg(1, 1)
	changed.Data[99] ^= 1
	for name, c := range map[string]struct {
		extra []runtime.Message
		at    int
		want  string
	}{
		"good":         {nil, 0, ""},
		"twice":        {[]runtime.Message{msg(1, 0)}, 1, "message 0 of origin 1 in place of 1"},
		"overtaken":    {[]runtime.Message{msg(2, 1)}, 1, "message 1 of origin 2 in place of 0"},
		"one too many": {[]runtime.Message{msg(2, 3)}, 6, "more than 3 messages of origin 2"},
		"changed":      {[]runtime.Message{changed}, 3, "message 1 of origin 1 is not what was published"},
		"its own":      {[]runtime.Message{msg(0, 0)}, 0, "a message of origin 0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newReceiver(j)
			all := append(append(append([]runtime.Message{}, good[:c.at]...), c.extra...), good[c.at:]...)
			for _, m := range all {
				in.take(m)
			}
			require.Equal(t, c.want, in.wrong.First)
			require.Equal(t, len(c.extra), -in.left())
		})
	}
}

func TestMessagesDiffer(t *testing.T) {
	p := newPayload(&Job{Size: 32, Seed: 1})
	seen := map[string]bool{}
	for origin := range 3 {
		for n := range 3 {
			seen[string(p.make(origin, n))] = true
		}
	}
	require.Len(t, seen, 9)
}

// TestInputThatChanges checks that a file which changes between two reads is noticed.
func TestInputThatChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for what, after := range map[string]string{"grows": "abcdef", "shrinks": "ab", "differs": "abX"} {
		require.NoError(t, os.WriteFile(name, []byte("abc"), 0o666))
		in, err := OpenInput(name)
		require.NoError(t, err)
		sum, err := in.Sum()
		require.NoError(t, err)
		buf := make([]byte, in.Size)
		require.NoError(t, in.load(buf, sum), what)
		require.Equal(t, "abc", string(buf))
		require.NoError(t, os.WriteFile(name, []byte(after), 0o666))
		require.ErrorContains(t, in.load(buf, sum), "changed while it was read", what)
		require.NoError(t, in.Close())
	}
}

// deliver copies the blocks of all ranks to the ranks that want them, as the collective does.
func deliver(all []*pattern) {
	for _, to := range all {
		for i := range to.wanted.Count {
			for _, from := range all {
				if k := from.held.Index(to.wanted.At(i)); k >= 0 {
					copy(to.received(i), from.sent(k))
				}
			}
		}
	}
}

// TestPatternFindsEveryByte changes every byte of every block in turn, and leaves blocks out. The
// comparison finds each.
func TestPatternFindsEveryByte(t *testing.T) {
	const ranks, size = 4, 3
	for _, row := range blockRows() {
		t.Run(row.Name, func(t *testing.T) {
			var all []*pattern
			root := 0
			if row.Rooted {
				root = 2
			}
			for rank := range ranks {
				j := &Job{Collective: row.Name, Rank: rank, Size: size, Seed: 7, Params: schedule.Params{Ranks: ranks, Root: root}}
				if row.Inputs != nil {
					j.Fold = Folding{"sum", "uint8"}
				}
				all = append(all, newPattern(newBuffers(j)))
			}
			require.Equal(t, size, len(all[root].sent(0)))
			compared := func(iteration int) (wrong Findings) {
				for _, p := range all {
					p.check(&wrong, iteration)
				}
				return wrong
			}
			for _, b := range all {
				b.prepare(5)
			}
			got := 0
			for _, b := range all {
				got += b.wanted.Count
			}
			require.Equal(t, got, compared(5).Count, "nothing has come")
			if deliver(all); row.Inputs != nil {
				for _, b := range all {
					for i := range b.wanted.Count {
						copy(b.received(i), b.folded(5, b.wanted.At(i), size))
					}
				}
			}
			require.Zero(t, compared(5))
			require.NotZero(t, compared(6).Count, "the blocks of another iteration")
			for rank, b := range all {
				for _, buf := range [][]byte{b.dst, b.src} {
					for k := range buf {
						buf[k] ^= 0x40
						wrong := compared(5)
						require.Equal(t, 1, wrong.Count, "rank %d byte %d", rank, k)
						require.Contains(t, wrong.First, fmt.Sprintf(" as byte %d, not 0x", k%size))
						buf[k] ^= 0x40
					}
				}
			}
		})
	}
}

// TestCountedBlocks checks blocks with their own lengths, some of them 0: they have the same length
// at both ends, and every byte is compared.
func TestCountedBlocks(t *testing.T) {
	for collective, counts := range map[string][]int64{
		"scatter": {3, 0, 5}, "gather": {3, 0, 5}, "allgather": {3, 0, 5}, "alltoall": {1, 2, 0, 4, 5, 0, 7, 8, 9},
	} {
		var all []*pattern
		var wrong Findings
		bytes := int64(0)
		for rank := range 3 {
			j := &Job{Collective: collective, Rank: rank, Size: 9, Seed: 7, Counts: counts, Params: schedule.Params{Ranks: 3}}
			b := newPattern(newBuffers(j))
			for i := range b.wanted.Count {
				require.Len(t, b.received(i), int(counts[b.wanted.At(i)]))
			}
			for i := range b.held.Count {
				require.Len(t, b.sent(i), int(counts[b.held.At(i)]))
			}
			bytes += int64(len(b.dst))
			all = append(all, b)
			b.prepare(0)
		}
		deliver(all)
		for _, b := range all {
			b.check(&wrong, 0)
		}
		require.Zero(t, wrong, collective)
		for _, b := range all {
			for k := range b.dst {
				b.dst[k]++
				b.check(&wrong, 0)
				b.dst[k]--
			}
		}
		require.EqualValues(t, bytes, wrong.Count, collective)
	}
}

// TestBlocksDiffer checks that blocks differ from each other, and from one iteration and run to the
// next.
func TestBlocksDiffer(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		p := newPattern(newBuffers(&Job{Seed: seed}))
		for iteration := -1; iteration < 3; iteration++ {
			for number := range 3 {
				seen[string(p.block(32, iteration, number))] = true
			}
		}
	}
	require.Len(t, seen, 3*4*3)
}

// TestBoard checks that a board asks each rank once until the rank answers, and reports ranks that
// do not answer.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBoard(3)
		require.Contains(t, b.Reports(t.Context())[2].Note, "has not started")
		asked := make([]int, 3)
		b.open(func(rank int) {
			asked[rank]++
			if rank != 1 {
				b.put(rank, &status.Report{})
			}
		})
		for range 2 {
			reports := b.Reports(t.Context())
			require.Empty(t, reports[0].Note)
			require.Contains(t, reports[1].Note, "has not answered for ")
			require.Equal(t, 2, reports[2].Process)
		}
		require.Equal(t, []int{2, 1, 2}, asked)
		b.end(1)
		require.Contains(t, b.Reports(t.Context())[1].Note, "has ended")
		var none *Board
		none.open(nil)
		none.put(0, nil)
		none.end(0)
	})
}

// TestMarks checks that a message of an earlier iteration is not taken for the timed one.
func TestMarks(t *testing.T) {
	for _, size := range []int64{1, 2, 1000} {
		b := newBuffers(&Job{Collective: schedule.Bcast, Size: size, Params: schedule.Params{Ranks: 3}})
		var wrong Findings
		b.mark(300)
		b.check(&wrong, 300)
		require.Zero(t, wrong)
		b.check(&wrong, 301)
		require.Equal(t, 1, wrong.Count)
		b.dst[size-1]++
		b.check(&wrong, 300)
		require.Equal(t, 2, wrong.Count)
		b.dst = b.dst[1:]
		b.check(&wrong, 300)
		require.Equal(t, 3, wrong.Count)
	}
	var wrong Findings
	b := newBuffers(&Job{Collective: schedule.Bcast, Params: schedule.Params{Ranks: 3}})
	b.mark(1)
	b.check(&wrong, 1)
	require.Zero(t, wrong)
}

// TestTimed checks that only the time of the root counts if the root waits for replies.
func TestTimed(t *testing.T) {
	for _, root := range []bool{false, true} {
		require.True(t, (&Operation{}).timedAt(root))
		require.Equal(t, root, (&Operation{Replied: true}).timedAt(root))
	}
}
