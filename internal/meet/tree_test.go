package meet

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1000).Draw(t, "size")
		rank := rapid.IntRange(0, size-1).Draw(t, "rank")
		n, direct := 0, 0
		for other := range size {
			if inSubtree(other, rank) {
				n++
			}
			if other > 0 && parentOf(other) == rank {
				direct++
			}
		}
		require.Equal(t, n, subtreeSize(rank, size))
		require.LessOrEqual(t, direct, fanOut)
		require.Equal(t, direct > 0, hasChildren(rank, size))
		first, end := childrenOf(rank, size)
		require.Equal(t, direct, end-first)
		for other := first; other < end; other++ {
			require.Equal(t, rank, parentOf(other))
		}
	})
}

// sameTable lets many ranks in one process share one table: it reads each rank's table, compares it
// with rank 0's, and keeps nothing.
type sameTable struct {
	mu   sync.Mutex
	want []byte
	tab  *Meeting
}

func (s *sameTable) decode(r io.Reader, size int) (*Meeting, error) {
	s.mu.Lock()
	tab, want := s.tab, s.want
	s.mu.Unlock()
	if tab == nil {
		first, err := readTable(r, size)
		if err != nil {
			return nil, err
		}
		tab, want = first, appendTable(nil, first)[2:]
		s.mu.Lock()
		s.tab, s.want = tab, want
		s.mu.Unlock()
	} else if err := compare(r, want); err != nil {
		return nil, err
	}
	own := *tab
	return &own, nil
}

func compare(r io.Reader, want []byte) error {
	var b [4096]byte
	for at := 0; at < len(want); {
		n, err := r.Read(b[:min(len(b), len(want)-at)])
		if err != nil {
			return err
		}
		if string(b[:n]) != string(want[at:at+n]) {
			return fmt.Errorf("another table, at byte %d", at)
		}
		at += n
	}
	return nil
}

// Thousands of ranks, each on its own host with a link of 1 Gbit/s, started within half a second in
// any order, meet within seconds. Rank 0 has eight connections if the doors are known. If only its
// own is, each rank asks it once, and the table still goes down the tree. The times are virtual.
func TestThousandsOfRanksMeet(t *testing.T) {
	for known, size := range map[bool]int{true: heavy.Or(3000, 10_000), false: heavy.Or(1000, 2500)} {
		if testing.Short() {
			size = 1000
		}
		t.Run(fmt.Sprintf("doors known %v", known), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				h := newHall(t, size)
				h.known = known
				var same sameTable
				for rank := range size {
					time.AfterFunc(time.Duration(rank*7919%size)*50*time.Microsecond, func() {
						h.come(t.Context(), rank, func(c *Config) { c.decode, c.Blob = same.decode, []byte{byte(rank), byte(rank >> 8)} })
					})
				}
				time.Sleep(time.Second)
				h.wg.Wait()
				var last time.Duration
				for rank, err := range h.errs {
					require.NoError(t, err, "rank %d", rank)
					last = max(last, h.ends[rank])
				}
				for rank, b := range h.tabs[size-1].Blobs {
					require.Equal(t, []byte{byte(rank), byte(rank >> 8)}, b)
				}
				first := h.hosts[0]
				t.Logf("%v; rank 0 accepted %d connections and wrote %d times", last, first.accepted, first.sent)
				require.Less(t, last, 5*time.Second)
				for rank, host := range h.hosts {
					if known || rank > 0 {
						require.LessOrEqual(t, host.accepted, fanOut, "rank %d", rank)
					} else {
						require.Less(t, host.accepted, size)
					}
				}
			})
		})
	}
}
