//go:build linux

package memory

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// log is a sink that notes the numbers of what comes from each rank.
type log struct {
	got  map[int][]uint64
	hold uint64 // frames from this number on are held
	lost map[int]error
}

func newLog() *log { return &log{got: map[int][]uint64{}, hold: 1 << 60, lost: map[int]error{}} }

func (s *log) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if h.Seq >= s.hold {
		return nil, wire.Hold
	}
	return nil, wire.Accept
}
func (s *log) Arrived(h *wire.Header, _ []byte)              { s.got[h.From] = append(s.got[h.From], h.Seq) }
func (*log) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (s *log) Ended(rank int, how wire.End, err error) {
	if how != wire.Closed {
		s.lost[rank] = err
	}
}

// group joins size ranks of this process and gives each a log.
func group(t require.TestingT, ctx context.Context, size int) (trs []*Transport, logs []*log, end func()) {
	f, err := Create(size)
	require.NoError(t, err)
	trs, errs := make([]*Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		wg.Go(func() { trs[rank], errs[rank] = Join(ctx, Config{Options: Options{Rank: rank, Size: size, File: f}}) })
		logs = append(logs, newLog())
	}
	wg.Wait()
	require.NoError(t, errors.Join(append(errs, f.Close())...))
	return trs, logs, func() {
		for _, tr := range trs {
			require.NoError(t, tr.Close(false, 0))
		}
	}
}

func signal(seq uint64) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Slot: ir.Signal(0), Seq: seq}}
}

// A reader that is behind by more than the cells is put to, and so are those that
// it shares notices with; nothing that it has not read is written over.
func TestOverrun(t *testing.T) {
	trs, logs, end := group(t, t.Context(), 3)
	defer end()
	sender, slow, other := trs[0], trs[1], trs[2]
	const frames = noticeCells + 5
	for seq := range uint64(frames) {
		sender.PutAll([]int{1, 2}, signal(seq))
		other.Poll(logs[2])
	}
	require.Equal(t, uint64(noticeCells), sender.post.written)
	require.Equal(t, uint64(frames-noticeCells), sender.peers[1].out[wire.LaneOps].cells)
	require.Equal(t, uint64(frames-noticeCells), sender.peers[2].out[wire.LaneOps].cells)
	require.Len(t, logs[2].got[0], frames)
	for slow.Poll(logs[1]) {
	}
	require.ElementsMatch(t, logs[2].got[0], logs[1].got[0])
	sender.PutAll([]int{1, 2}, signal(frames))
	require.Equal(t, uint64(noticeCells+1), sender.post.written, "there is room again")
}

// A rank that notices were not for is not waited for, and finds the next one
// that is, wherever that is in the ring.
func TestPassedOver(t *testing.T) {
	for behind := range uint64(3*noticeCells + 2) {
		trs, logs, end := group(t, t.Context(), 4)
		for seq := range behind {
			trs[0].PutAll([]int{1, 2}, signal(seq))
			trs[1].Poll(logs[1])
			trs[2].Poll(logs[2])
		}
		trs[0].PutAll([]int{1, 3}, signal(behind))
		require.Equal(t, behind+1, trs[0].post.written)
		for trs[3].Poll(logs[3]) {
		}
		require.Equal(t, []uint64{behind}, logs[3].got[0])
		end()
	}
}

// Whom a Poll looks for notices of is bounded; the others ring.
func TestHeeded(t *testing.T) {
	const size = 12
	trs, logs, end := group(t, t.Context(), size)
	defer end()
	for round := range uint64(3) {
		for from := 1; from < size; from++ {
			trs[from].PutAll([]int{0, from%(size-1) + 1}, signal(round))
			trs[0].Poll(logs[0])
			require.Len(t, logs[0].got[from], int(round)+1)
			rung := trs[from].post.readers[0].listens
			require.Equal(t, round > 0 && from <= maxHeeded, rung)
		}
	}
	require.Len(t, trs[0].heeded, maxHeeded)
}

// Who polls and looks for a rank's notices is not rung; a notice that comes
// between its last look and its Wait does not stay there until Wait ends by
// itself, and who waits is rung.
func TestNotRung(t *testing.T) {
	for _, size := range []int{3, 11} {
		trs, logs, end := group(t, t.Context(), size)
		sender, reader := trs[0], trs[1]
		put := func(seq uint64) { sender.PutAll([]int{1, 2}, signal(seq)) }
		put(0)
		require.NotZero(t, reader.park.bell.bits[0], "it is rung before it has heard of any")
		require.True(t, reader.Poll(logs[1]))
		put(1)
		require.Zero(t, reader.park.bell.bits[0])
		require.True(t, reader.Poll(logs[1]))
		require.False(t, reader.Poll(logs[1]))
		put(2)
		reader.Wait(-1)
		require.False(t, reader.park.lapsed.Load(), "it has parked over a notice")
		require.True(t, reader.Poll(logs[1]))
		require.Equal(t, uint32(polling), reader.park.bell.parked)
		reader.Wait(-1)
		put(3)
		require.NotZero(t, reader.park.bell.bits[0])
		reader.Wait(-1)
		require.False(t, reader.park.lapsed.Load())
		require.True(t, reader.Poll(logs[1]))
		require.Equal(t, []uint64{0, 1, 2, 3}, logs[1].got[0])
		end()
	}
}

// Whatever is put to whom, in whatever order ranks poll and hold back, everybody
// gets all that is for it, once.
func TestNoticesArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{2, 3, 5, 8, 9, 13}).Draw(t, "ranks")
		trs, logs, end := group(t, context.Background(), size)
		defer end()
		want := make([]map[int][]uint64, size)
		for rank := range want {
			want[rank] = map[int][]uint64{}
		}
		for seq := range uint64(rapid.IntRange(1, 120).Draw(t, "frames")) {
			from := rapid.IntRange(0, min(size-1, 2)).Draw(t, "from")
			mask := rapid.Uint16().Draw(t, "to")
			var to []int
			for rank := range size {
				if rank != from && mask&(1<<rank) != 0 {
					to = append(to, rank)
					want[rank][from] = append(want[rank][from], seq)
				}
			}
			trs[from].PutAll(to, signal(seq))
			for _, rank := range rapid.SliceOfN(rapid.IntRange(0, size-1), 0, 4).Draw(t, "polling") {
				logs[rank].hold = rapid.SampledFrom([]uint64{0, seq / 2, 1 << 60}).Draw(t, "hold")
				trs[rank].Poll(logs[rank])
			}
		}
		for rank, tr := range trs {
			logs[rank].hold = 1 << 60
			for tr.Poll(logs[rank]) {
			}
			require.Empty(t, logs[rank].lost)
			for from := range size {
				require.ElementsMatch(t, want[rank][from], logs[rank].got[from], "to %d from %d", rank, from)
			}
		}
	})
}

// A stamp that no rank would write loses its rank.
func TestSpoiltStamp(t *testing.T) {
	trs, logs, end := group(t, t.Context(), 3)
	defer end()
	trs[0].PutAll([]int{1, 2}, signal(0))
	trs[0].post.cells[1].stamp = 7
	trs[1].Poll(logs[1])
	require.Equal(t, []uint64{0}, logs[1].got[0])
	require.ErrorIs(t, logs[1].lost[0], errBroken)
}

// A reader that says it has read what was not written is lost.
func TestSpoiltPlace(t *testing.T) {
	trs, logs, end := group(t, t.Context(), 3)
	defer end()
	trs[0].post.readers[1].position.notices = 1 << 40
	for seq := range uint64(noticeCells + 1) {
		trs[0].PutAll([]int{1, 2}, signal(seq))
		trs[2].Poll(logs[2])
	}
	trs[0].Poll(logs[0])
	require.ErrorIs(t, logs[0].lost[1], errBroken)
	require.Len(t, logs[2].got[0], noticeCells+1, "the others get everything")
}
