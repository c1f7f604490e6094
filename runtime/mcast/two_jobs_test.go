package mcast_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// Two jobs that have drawn the same group and port hear each other's multicasts and ignore them, by
// their identities or by their keys.
func TestTwoJobsInOneGroup(t *testing.T) {
	const size, rounds = 3, 40
	for name, keys := range map[string][2][]byte{
		"without keys": {},
		"with keys":    {bytes.Repeat([]byte("a"), tcp.MinKey), bytes.Repeat([]byte("b"), tcp.MinKey)},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs [2][]*mcast.Transport
			for j := range jobs {
				trs, errs := tryJoin(t, size, mcast.Config{Family: 4, MTU: 1500}, func(rank int, c *mcast.Config) {
					c.TCP.Key = keys[j]
					c.TCP.Rand = io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{0x5A}, 16)), rand.Reader) // the group, then the identity
				})
				for _, err := range errs {
					require.NoError(t, err)
				}
				jobs[j] = trs
			}
			require.Equal(t, jobs[0][0].Group(), jobs[1][0].Group())
			require.NotEqual(t, jobs[0][0].ID(), jobs[1][0].ID())
			var wg sync.WaitGroup
			for j := range jobs {
				for rank, tr := range jobs[j] {
					wg.Go(func() { broadcasts(t, tr, byte(j), rank, rounds) })
				}
			}
			wg.Wait()
			for j := range jobs {
				heard := uint64(0)
				for _, tr := range jobs[j] {
					s := tr.Stats()
					heard += s.Foreign
					require.Zero(t, s.Torn+s.Forged+s.Unauthenticated+s.Replayed)
				}
				require.NotZero(t, heard, "job %d has heard nothing of the other one", j)
			}
		})
	}
}

// broadcasts takes part in broadcasts whose bytes identify the job and the round.
func broadcasts(t *testing.T, tr *mcast.Transport, job byte, rank, rounds int) {
	comm, err := runtime.Join(t.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-chain"}}})
	if !assertNo(t, err) {
		return
	}
	buf := make([]byte, 20_000)
	for i := range rounds {
		want := bytes.Repeat([]byte{job, byte(i)}, len(buf)/2)
		if clear(buf); rank == 0 {
			copy(buf, want)
		}
		if !assertNo(t, comm.Bcast(t.Context(), buf, 0)) || !assertNo(t, comm.Barrier(t.Context())) {
			break
		}
		if !bytes.Equal(want, buf) {
			t.Errorf("job %d, rank %d: other bytes in round %d", job, rank, i)
		}
	}
	assertNo(t, comm.Close())
}

func assertNo(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
