//go:build linux

package shm_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

// grams is a sink for datagrams only.
type grams struct {
	fragment func(h *wire.Header, offset int, payload []byte) wire.Verdict
	lost     []error
}

func (*grams) Body(*wire.Header) ([]byte, wire.Verdict) { return nil, wire.Drop }
func (*grams) Arrived(*wire.Header, []byte)             {}
func (g *grams) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	return g.fragment(h, offset, payload)
}
func (g *grams) Ended(_ int, how wire.End, err error) {
	if how != wire.Closed {
		g.lost = append(g.lost, err)
	}
}

func chunk(seq uint64, body []byte, unsent *int) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: seq, Len: len(body)}, Body: body, Unsent: unsent}
}

// A sender does not wait for ever for a reader, but never overwrites a datagram that the reader is
// reading.
func TestSlowReader(t *testing.T) {
	trs := joinAll(t, 3)
	defer closeAll(t, trs)
	sender, slow, other := trs[0], trs[1], trs[2]
	const last = 200
	body := func(seq uint64) []byte { return bytes.Repeat([]byte{byte(seq)}, 30_000) }
	got := map[uint64]bool{}
	reader := &grams{fragment: func(h *wire.Header, _ int, payload []byte) wire.Verdict {
		got[h.Seq] = true
		require.True(t, bytes.Equal(body(h.Seq), payload), "what others read is changed")
		return wire.Drop
	}}
	unsent := 0
	flood := func(from, to uint64) {
		for seq := from; seq < to; seq++ {
			unsent++
			sender.Mcast(chunk(seq, body(seq), &unsent))
			other.Poll(reader)
		}
	}
	first := true
	lazy := &grams{fragment: func(h *wire.Header, _ int, payload []byte) wire.Verdict {
		if first {
			first = false
			flood(1, last)
			for end := time.Now().Add(patience); unsent > 0; {
				require.True(t, time.Now().Before(end), "the sender waits for a reader")
				if !sender.Poll(&grams{}) && !other.Poll(reader) {
					sender.Wait(time.Millisecond)
				}
			}
		}
		require.True(t, bytes.Equal(body(h.Seq), payload), "what is read is overwritten")
		return wire.Drop
	}}
	flood(0, 1)
	slow.Poll(lazy)
	require.Positive(t, sender.Stats().Unsendable, "there is no way around the reader")
	require.Greater(t, len(got), 10, "who keeps up gets what there is room for")

	// Where no rank reads, the sender overwrites. The slow rank goes on with later datagrams.
	lazy.fragment = reader.fragment
	slow.Poll(lazy)
	flood(last, 2*last)
	until(t, sender, &unsent)
	slow.Poll(lazy)
	require.Positive(t, slow.Stats().Early)
	flood(2*last, 2*last+1)
	clear(got)
	slow.Poll(lazy)
	require.True(t, got[2*last])
}

// until polls tr until everything is sent.
func until(t testing.TB, tr *shm.Transport, unsent *int) {
	for end := time.Now().Add(patience); *unsent > 0; {
		require.True(t, time.Now().Before(end), "the sender waits for readers")
		if !tr.Poll(&grams{}) {
			tr.Wait(time.Millisecond)
		}
	}
}

// stopped is the machine's clock until it stands still.
type stopped struct {
	clock.System
	at atomic.Pointer[time.Time]
}

func (s *stopped) Now() time.Time {
	if at := s.at.Load(); at != nil {
		return *at
	}
	return s.System.Now()
}

// A sender waits a while for readers that are on their way. Here no time passes, so it waits for all
// of them.
func TestPaced(t *testing.T) {
	var c stopped
	f, err := shm.Create(2)
	require.NoError(t, err)
	defer f.Close()
	trs, errs := tryJoin(t, 2, func(_ int, cfg *shm.Config) { cfg.File, cfg.Clock = f, &c })
	require.NoError(t, errors.Join(errs...))
	defer closeAll(t, trs)
	now := c.Now()
	c.at.Store(&now)
	const chunks = 300
	unsent, got := chunks, 0
	body := bytes.Repeat([]byte("x"), 30_000)
	for seq := range uint64(chunks) {
		trs[0].Mcast(chunk(seq, body, &unsent))
	}
	require.Positive(t, unsent, "more than fits was not queued")
	sink := &grams{fragment: func(*wire.Header, int, []byte) wire.Verdict { got++; return wire.Drop }}
	for end := time.Now().Add(patience); unsent > 0 || got < chunks; {
		require.True(t, time.Now().Before(end), "readers that are on their way are overtaken")
		trs[0].Poll(sink)
		trs[1].Poll(sink)
	}
	c.at.Store(nil)
}
