//go:build linux

package shm_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

// taker takes everything, and checks the promised lengths and lanes.
type taker struct {
	t     testing.TB
	frame int
	ended [3]int
}

func (s *taker) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if !h.Kind.Valid() || h.Len < 0 || h.Len > shm.MaxBody || h.Lane >= wire.Lanes {
		s.t.Errorf("a frame that cannot be: %+v", *h)
	}
	if h.Len > 1<<20 {
		return nil, wire.Drop
	}
	return make([]byte, h.Len), wire.Accept
}

func (s *taker) Arrived(*wire.Header, []byte) { s.frame++ }

func (s *taker) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	sum := byte(0)
	for _, b := range payload { // reads every byte: all must be mapped
		sum += b
	}
	if offset < 0 || offset+len(payload) > h.Len {
		s.t.Errorf("%d bytes at %d of %+v, sum %d", len(payload), offset, *h, sum)
	}
	return wire.Verdict(h.Seq % 3)
}

func (s *taker) Ended(rank int, how wire.End, err error) {
	s.ended[rank]++
	require.Equal(s.t, how == wire.Closed, err == nil)
}

// TestScribbled overwrites the segment with anything. No rank may read or write outside of it, and
// Ended is called at most once for each rank.
func TestScribbled(t *testing.T) {
	ended := 0
	for seed := range heavy.Seeds(25) {
		ended += scribble(t, seed)
	}
	require.Positive(t, ended, "nonsense was never noticed")
}

func scribble(t *testing.T, seed uint64) (ended int) {
	f, err := shm.Create(3)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(mem)
	trs := joinFile(t, f, 3)
	random := rand.New(rand.NewPCG(seed, 1))
	sinks := []*taker{{t: t}, {t: t}, {t: t}}
	var used [][]byte
	for round := range 200 {
		if round%50 == 0 {
			used = filled(t, f, mem)
		}
		part := used[0]
		if random.IntN(4) == 0 {
			part = used[random.IntN(len(used))]
		}
		spoil(random, part)
		for rank, tr := range trs {
			send(random, tr)
			tr.Poll(sinks[rank])
		}
	}
	for rank, tr := range trs {
		for _, n := range sinks[rank].ended {
			require.LessOrEqual(t, n, 1)
			ended += n
		}
		_ = tr.Close(true, 0) // it may be unable to send everything
	}
	return ended
}

// filled returns the parts of the segment that have memory. The parts of further communicators have
// none until they are used.
func filled(t *testing.T, f *os.File, mem []byte) (parts [][]byte) {
	for end := int64(0); ; {
		start, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if err != nil {
			require.ErrorIs(t, err, unix.ENXIO)
			return parts
		}
		end, err = unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		require.NoError(t, err)
		parts = append(parts, mem[start:end])
	}
}

// spoil overwrites parts that have been written, since ranks look there.
func spoil(random *rand.Rand, mem []byte) {
	for range 20 {
		line := mem[random.IntN(len(mem)/64)*64:][:64]
		for try := 0; try < 2000 && len(line) == 64; try++ {
			used := false
			for _, b := range line[:16] {
				used = used || b != 0
			}
			if used {
				break
			}
			line = mem[random.IntN(len(mem)/64)*64:][:64]
		}
		at := random.IntN(60)
		switch random.IntN(3) {
		case 0:
			line[at] = byte(random.Uint32())
		case 1:
			copy(line[at:], []byte{0xff, 0xff, 0xff, 0xff})
		case 2:
			line[at] ^= 1 << random.IntN(8)
		}
	}
}

func send(random *rand.Rand, tr *shm.Transport) {
	body := make([]byte, random.IntN(3)*random.IntN(40_000))
	f := &wire.Frame{Header: wire.Header{
		Kind: wire.FrameSlot, Lane: wire.Lane(random.IntN(int(wire.Lanes))), Slot: ir.Chunk(1), Seq: random.Uint64(), Len: len(body),
		Comm: uint8(random.IntN(3)),
	}, Body: body}
	tr.Put(random.IntN(3), f)
	flag := wire.Flag{Seq: random.Uint64() >> 16, Mark: random.Uint64(), From: random.IntN(1 << 16)}
	tr.Windows().Flag((tr.Rank()+1)%3, random.IntN(wire.FlagLines), flag)
	tr.Windows().Post(wire.FlagLines+random.IntN(wire.PostLines), []int{(tr.Rank() + 1) % 3}, flag)
	tr.Mcast(f)
}

func joinFile(t testing.TB, f *os.File, size int) []*shm.Transport {
	trs, errs := tryJoin(t, size, func(_ int, c *shm.Config) { c.File = f })
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs
}
