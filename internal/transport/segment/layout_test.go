//go:build linux

package segment

import (
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestLayout(t *testing.T) {
	for size := 1; size <= MaxSize; size++ {
		l := newLayout(size)
		require.True(t, size > 32 || l.total <= 64<<20, "%d ranks take %d bytes", size, l.total)
		require.LessOrEqual(t, l.total, 512<<20)
		require.LessOrEqual(t, l.gram, l.cast.bytes/4)
		require.Zero(t, l.area%lineSize)
		require.LessOrEqual(t, l.partAt(comms-1)+int64(l.part), l.setAt(1))
		require.Equal(t, l.length(), l.setAt(wire.WindowSets-1)+int64(size*l.apart))
		require.Zero(t, l.setAt(1)%pageSize)
		require.LessOrEqual(t, l.window, l.apart)
	}
}

// Every shared word has its own place within the segment.
func TestPlaces(t *testing.T) {
	for _, size := range []int{1, 2, 5, 33} {
		f, err := Create(size)
		require.NoError(t, err)
		s, err := attach(f, size)
		require.NoError(t, err)
		used := map[uintptr]bool{}
		take := func(p unsafe.Pointer, bytes int) {
			first := uintptr(p) - uintptr(unsafe.Pointer(&s.mem[0]))
			require.Zero(t, first%lineSize)
			require.LessOrEqual(t, first+uintptr(bytes), uintptr(len(s.mem)))
			for line := first; line < first+uintptr(bytes); line += lineSize {
				require.False(t, used[line], "line %d of a segment of %d ranks", line, size)
				used[line] = true
			}
		}
		takeRings := func(r rings) {
			take(unsafe.Pointer(&r.cells[0]), len(r.cells)*lineSize)
			take(unsafe.Pointer(&r.bytes[0]), len(r.bytes))
		}
		take(unsafe.Pointer(s.header()), pageSize)
		for to := range size {
			take(unsafe.Pointer(s.rank(to)), lineSize)
			take(unsafe.Pointer(s.bell(to)), lineSize)
			line, r := s.casts(to)
			take(unsafe.Pointer(line), lineSize)
			takeRings(r)
			take(unsafe.Pointer(s.loanLine(to)), lineSize)
			take(unsafe.Pointer(s.marks(to)), lineSize)
			w := s.firstSet()
			take(unsafe.Pointer(&w.lines(to)[0]), wire.WindowLines*lineSize)
			take(unsafe.Pointer(w.passed(to)), lineSize)
			for k := range wire.ChunkLines {
				take(unsafe.Pointer(w.tally(to, k)), lineSize)
				take(unsafe.Pointer(&w.roomOf(to, k)[0]), s.room)
			}
			for from := range size {
				take(unsafe.Pointer(s.position(to, from)), lineSize)
				for lane := range wire.Lanes {
					line, r := s.lane(from, to, lane)
					take(unsafe.Pointer(line), lineSize)
					takeRings(r)
				}
			}
		}
		require.NoError(t, s.unmap())
		require.NoError(t, f.Close())
	}
}

// A rank comes and dies while others are still missing.
func TestDiedBeforeTheOthersCame(t *testing.T) {
	f, err := Create(3)
	require.NoError(t, err)
	defer f.Close()
	s, err := attach(f, 3)
	require.NoError(t, err)
	defer s.unmap()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	*s.rank(1) = rankLine{state: stateJoined, pid: uint32(cmd.Process.Pid), start: 1}
	require.NoError(t, cmd.Wait())
	err = s.gather(t.Context(), &Config{Options: Options{File: f, Clock: clock.System{}}})
	require.ErrorIs(t, err, errDied)
	require.ErrorContains(t, err, "rank 1: ")
}
