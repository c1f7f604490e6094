//go:build verbs && linux && cgo

package verbs_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Two jobs that have drawn the same group and the same key receive each other's multicasts, and
// accept none of them.
func TestTwoJobsInOneGroup(t *testing.T) {
	const size, burst = 2, 16
	datagrams := heavy.Or(20_000, 1_000_000)
	var jobs [2][]*verbs.Transport
	var sinks [2][size]*census
	for j := range jobs {
		jobs[j] = joinAll(t, size, func(_ int, c *verbs.Config) {
			c.Device = adapter(t)
			c.TCP.Rand = io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{0x5A}, 18)), rand.Reader) // the group, then the identity
		})
		for rank, tr := range jobs[j] {
			sinks[j][rank] = &census{job: byte(j)}
			defer tr.Close(true, patience)
		}
	}
	require.Equal(t, jobs[0][0].Group(), jobs[1][0].Group())
	require.NotEqual(t, jobs[0][0].ID(), jobs[1][0].ID())
	poll := func() {
		for j := range jobs {
			for rank, tr := range jobs[j] {
				tr.Poll(sinks[j][rank])
			}
		}
	}
	for sent := 0; sent < datagrams; sent += len(jobs) {
		for j := range jobs {
			body := bytes.Repeat([]byte{byte(j)}, 100)
			jobs[j][0].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: uint64(sent)}, Body: body})
		}
		if sent%burst == 0 {
			poll()
		}
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		poll()
	}
	heard, foreign := 0, uint64(0)
	for j := range jobs {
		for rank, tr := range jobs[j] {
			require.Zero(t, sinks[j][rank].wrong, "rank %d of job %d has taken what was not for it", rank, j)
			heard += sinks[j][rank].right
			foreign += tr.Stats().Foreign
			require.Zero(t, tr.Stats().Torn+tr.Stats().Forged)
		}
	}
	t.Logf("of %d datagrams of two jobs %d were heard in their own, %d in the other and dropped", datagrams, heard, foreign)
	require.Greater(t, heard, datagrams/2)
	require.Greater(t, foreign, uint64(datagrams/2))
}

// census counts datagrams by job.
type census struct {
	job          byte
	right, wrong int
}

func (c *census) Body(*wire.Header) ([]byte, wire.Verdict) { return nil, wire.Drop }
func (c *census) Arrived(*wire.Header, []byte)             {}
func (c *census) Ended(int, wire.End, error)               {}
func (c *census) Fragment(_ *wire.Header, _ int, payload []byte) wire.Verdict {
	if bytes.Count(payload, []byte{c.job}) == len(payload) {
		c.right++
	} else {
		c.wrong++
	}
	return wire.Accept
}
