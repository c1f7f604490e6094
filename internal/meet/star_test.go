package meet

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// sameTable lets many ranks in one process share one table: it reads each rank's table, compares it
// with the first one, and keeps nothing.
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

// Thousands of ranks, each on its own host with a link of 1 Gbit/s, started within a tenth of a
// second in any order, meet in the time that rank 0's link takes for the tables, and a second. The
// times are virtual.
func TestThousandsOfRanksMeet(t *testing.T) {
	size := heavy.Or(2000, 10_000)
	if testing.Short() {
		size = 1000
	}
	inHall(t, size, func(t *testing.T, h *hall) {
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
		tables := time.Duration(float64(size*len(same.want)) / gigabit * float64(time.Second))
		t.Logf("%v, of which the tables take %v", last, tables)
		require.Less(t, last, tables+time.Second)
		require.Equal(t, size-1, h.hosts[0].accepted)
	})
}

// BenchmarkMeet has ranks meet over the loopback interface, all in one process.
func BenchmarkMeet(b *testing.B) {
	for _, size := range []int{16, 256, 2000} {
		b.Run(fmt.Sprintf("P=%d", size), func(b *testing.B) {
			for b.Loop() {
				door, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(b, err)
				var same sameTable
				var wg sync.WaitGroup
				errs := make([]error, size)
				for rank := range size {
					cfg := Config{Rank: rank, Size: size, Coordinator: door.Addr().String(), decode: same.decode}
					if rank == 0 {
						cfg.Listener = door
					}
					wg.Go(func() {
						_, l, err := Meet(b.Context(), cfg)
						if err == nil {
							err = l.Close()
						}
						errs[rank] = err
					})
				}
				wg.Wait()
				for rank, err := range errs {
					require.NoError(b, err, "rank %d", rank)
				}
			}
		})
	}
}
