package runtime_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// hostile joins one rank of two. The test is the other rank, and drives the bare transport.
func hostile(t testing.TB, cfg runtime.Config) (*runtime.Comm, *mem.Transport) {
	ts, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	cfg.Transport = ts[0]
	cfg.Algorithms = runtime.Algorithms{"barrier": {Name: "barrier/dissemination"}} // rank 0 has something to say at once
	c, err := runtime.Join(context.Background(), cfg)
	require.NoError(t, err)
	return c, ts[1]
}

// quiet is a sink that takes nothing.
type quiet struct{}

func (quiet) Body(*wire.Header) ([]byte, wire.Verdict)            { return nil, wire.Drop }
func (quiet) Arrived(*wire.Header, []byte)                        {}
func (quiet) Fragment(*wire.Header, int, []byte) (v wire.Verdict) { return wire.Drop }
func (quiet) Ended(int, wire.End, error)                          {}

// spy is a sink that keeps the fingerprint of each frame.
type spy struct {
	quiet
	print uint32
}

func (s *spy) Body(h *wire.Header) ([]byte, wire.Verdict) {
	s.print = h.Print
	return nil, wire.Drop
}

// A peer that sends a frame that no correct peer sends fails the operation, with an error that
// names the peer and the frame.
func TestHostilePeers(t *testing.T) {
	slot := func(s ir.Slot, n int) wire.Header {
		return wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Seq: 1, Slot: s, Len: n}
	}
	control := func(k wire.FrameKind, arg uint32, seq uint64, n int) wire.Header {
		return wire.Header{Kind: k, Lane: wire.LaneControl, Seq: seq, Arg: arg, Len: n}
	}
	frames := map[string]struct {
		h    wire.Header
		want string
	}{
		"a signal that does not exist":   {slot(ir.Signal(7), 0), "s7 with 0 bytes does not exist here"},
		"a signal with bytes":            {slot(ir.Signal(0), 3), "s0 with 3 bytes"},
		"a chunk in a barrier":           {slot(ir.Chunk(0), 0), "c0 does not exist"},
		"no slot":                        {slot(ir.None, 0), "none does not exist"},
		"enter":                          {slot(ir.Enter, 0), "enter does not exist"},
		"a slot on the other lane":       {control(wire.FrameSlot, 0, 1, 0), "control frame of kind 1"},
		"control with bytes":             {control(wire.FrameProbe, 0, 1, 5), "with 5 bytes"},
		"control on the other lane":      {wire.Header{Kind: wire.FrameProbe, Lane: wire.LaneOps, Seq: 1}, "on the lane of operations"},
		"a message of nobody":            {control(wire.FramePublish, 9, 0, 1), "origin 7"},
		"a message of this rank":         {control(wire.FramePublish, 0, 0, 1), "origin 0"},
		"a message beyond the window":    {control(wire.FramePublish, 1, 1<<20, 1), "origin 1 sends more than its window"},
		"a message too long":             {control(wire.FramePublish, 1, 0, 2000), "with 2000 bytes"},
		"thanks for what was never sent": {control(wire.FrameAck, 0, 4, 0), "acknowledgement of 4 messages"},
		"thanks to nobody":               {control(wire.FrameAck, 7, 0, 0), "about messages of origin 5"},
		"an abort that is too long":      {control(wire.FrameAbort, 1, 0, wire.MaxControl+1), "abort of rank 1"},
		"a request that is too long":     {control(wire.FrameWant, 0, 1, wire.MaxControl+8), "request of 1032 bytes"},
		"a request cut short":            {control(wire.FrameWant, 0, 1, 7), "request of 7 bytes"},
		"a question of this rank":        {control(wire.FrameFlush, 0, 1, 0), "question about 1 messages of origin 0"},
		"a question about too much":      {wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Arg: 1, Seq: 1 << 20}, "messages of origin 1"},
		"a request for too much":         {wire.Header{Kind: wire.FrameLost, Lane: wire.LaneControl, Slot: 4}, "request for 4 messages of origin 0 from 0"},
		"a question of no form":          {control(wire.FramePublish, 3, 0, 1), "message 0 of rank 1 about questions: 1 bytes"},
		"an answer to nothing":           {control(wire.FrameAnswer, 0, 0, 1), "answer to question 0 of rank 0: it has not been asked"},
		"an end of nothing":              {control(wire.FrameUnanswered, 1, 0, 1), "end of question 0 of rank 1: it has not been asked"},
		"a mismatch that is too long":    {control(wire.FrameClash, 0, 1, wire.MaxControl+1), "mismatch 0 about rank 0 in 1025 bytes"},
		"a mismatch about nothing":       {control(wire.FrameClash, 2, 1, 3), "mismatch 2"},
		"a mismatch because of nobody":   {wire.Header{Kind: wire.FrameDispute, Lane: wire.LaneControl, Slot: 9}, "about rank 9"},
		"an abort of nobody":             {control(wire.FrameAbort, 5, 0, 3), "abort of rank 5"},
		"an abort because of nobody":     {wire.Header{Kind: wire.FrameAbort, Lane: wire.LaneControl, Arg: 1, Slot: 9}, "because of rank 9"},
	}
	for name, f := range frames {
		t.Run(name, func(t *testing.T) {
			c, peer := hostile(t, runtime.Config{MaxMessage: 1000})
			errs := make(chan error, 1)
			go func() { errs <- c.Barrier(context.Background()) }()
			prints := prints(t, c, peer)
			f.h.Epoch, f.h.Print = 1, prints[f.h.Kind]
			peer.Put(0, &wire.Frame{Header: f.h, Body: make([]byte, f.h.Len)})
			peer.Poll(quiet{})
			err := <-errs
			require.ErrorIs(t, err, runtime.ErrProtocol)
			require.ErrorContains(t, err, "rank 1")
			require.ErrorContains(t, err, f.want)
			require.NoError(t, c.Close())
		})
	}
}

// prints learns the fingerprints of c from the frames that it sends.
func prints(t *testing.T, c *runtime.Comm, peer *mem.Transport) map[wire.FrameKind]uint32 {
	out := map[wire.FrameKind]uint32{}
	var s spy
	for s.print == 0 {
		peer.Wait(-1)
		peer.Poll(&s)
	}
	out[wire.FrameSlot] = s.print
	require.NoError(t, c.Publish(t.Context(), []byte("x")))
	for s.print == out[wire.FrameSlot] {
		peer.Wait(-1)
		peer.Poll(&s)
	}
	for _, k := range []wire.FrameKind{wire.FramePublish, wire.FrameFlush, wire.FrameAck, wire.FrameLost, wire.FrameAnswer, wire.FrameUnanswered} {
		out[k] = s.print
	}
	return out
}

// Datagrams of another epoch, and invalid ones, are counted and change nothing: a network may
// deliver them late, or from elsewhere.
func TestStaleFramesAreCounted(t *testing.T) {
	c, peer := hostile(t, runtime.Config{})
	errs := make(chan error, 1)
	go func() { errs <- c.Bcast(context.Background(), make([]byte, 100), 1) }()
	for i := range 50 {
		f := wire.Frame{Header: wire.Header{
			Kind: wire.FrameSlot, Epoch: uint32(i % 2), Seq: uint64(i % 4 * 100), Slot: ir.Slot(i * 0x11111111), Print: uint32(i), Len: i,
		}, Body: make([]byte, i)}
		peer.Mcast(&f)
	}
	for c.Totals().Stale < 30 {
		time.Sleep(time.Millisecond) // polls, since the count gives no event to wait for
	}
	require.NoError(t, c.Err())
	require.NoError(t, c.Close())
	require.Error(t, <-errs)
}

// Invalid datagrams to one rank are counted and change nothing; a valid one works like a put.
func TestStrayDatagrams(t *testing.T) {
	c, peer := hostile(t, runtime.Config{})
	errs := make(chan error, 1)
	go func() { errs <- c.Barrier(context.Background()) }()
	var s spy
	for s.print == 0 {
		peer.Wait(-1)
		peer.Poll(&s)
	}
	send := func(k wire.FrameKind, seq uint64, slot ir.Slot, arg, fingerprint uint32, body int) {
		peer.Datagram(0, &wire.Frame{Header: wire.Header{
			Kind: k, Epoch: 1, Seq: seq, Slot: slot, Arg: arg, Print: fingerprint, Len: body,
		}, Body: make([]byte, body)})
	}
	const slot, want = wire.FrameSlot, wire.FrameWant
	send(slot, 1, ir.Signal(7), 0, s.print, 0)     // does not exist
	send(slot, 1, ir.Signal(0), 0, s.print, 4)     // has no bytes
	send(slot, 1, ir.Signal(0), 0, s.print+2, 0)   // another operation
	send(slot, 0, ir.Signal(0), 0, s.print, 0)     // a past one
	send(slot, 99, ir.Signal(0), 0, s.print, 0)    // one far ahead
	send(slot, 1, ir.Chunk(0), 1, s.print, 4)      // a barrier has none
	send(slot, 1, ir.None, 1, s.print, 0)          // no slot
	send(slot, 1, ir.Enter, 1, s.print, 0)         // no slot of others'
	send(want, 1, ir.None, 0, s.print, 7)          // cut short
	send(want, 1, ir.None, 0, s.print, 8)          // fits: no chunks from 0 on
	send(want, 1, ir.None, 0, s.print, 9000)       // longer than a datagram
	send(wire.FrameAbort, 1, 0, 0, s.print, 0)     // nothing for a datagram
	send(wire.FrameKind(200), 1, 0, 0, s.print, 0) // nothing at all
	for c.Totals().Stale < 13 {
		time.Sleep(time.Millisecond) // polls, since the count gives no event to wait for
	}
	require.NoError(t, c.Err())
	require.Empty(t, errs)
	send(slot, 1, ir.Signal(0), 0, s.print, 0)
	send(slot, 1, ir.Signal(0), 0, s.print, 0) // again
	require.NoError(t, <-errs)
	require.NoError(t, c.Close())
}

// FuzzFrames throws frames at a communicator: it may fail, never panic or hang.
func FuzzFrames(f *testing.F) {
	f.Add(uint8(1), uint8(0), uint64(1), uint32(0x80000000), uint32(0), uint32(1), []byte("body"), true)
	f.Add(uint8(6), uint8(1), uint64(0), uint32(0), uint32(1), uint32(0), []byte("message"), false)
	f.Add(uint8(5), uint8(1), uint64(0), uint32(0), uint32(1), uint32(0), []byte("reason"), false)
	f.Add(uint8(wire.FrameClash), uint8(1), uint64(121), uint32(0), uint32(0), uint32(0), []byte("0"), false)
	f.Fuzz(func(t *testing.T, kind, lane uint8, seq uint64, slot, arg, fingerprint uint32, body []byte, multicast bool) {
		c, peer := hostile(t, runtime.Config{})
		frame := wire.Frame{Header: wire.Header{
			Kind: wire.FrameKind(kind), Lane: wire.Lane(lane % uint8(wire.Lanes)), Epoch: 1, Seq: seq,
			Slot: ir.Slot(slot), Arg: arg, Print: fingerprint, Len: len(body),
		}, Body: body}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		errs := make(chan error, 1)
		go func() { errs <- c.Bcast(ctx, make([]byte, 10), 1) }()
		if multicast {
			peer.Mcast(&frame)
			peer.Datagram(0, &frame)
		} else {
			peer.Put(0, &frame)
		}
		peer.Poll(quiet{})
		require.Error(t, <-errs)
		require.NoError(t, c.Close())
	})
}

func ExampleOpError() {
	err := &runtime.OpError{Op: "barrier/hsb", Rank: 2, Epoch: 1, Seq: 40, Fired: 1, Rules: 2,
		Missing: []ir.Slot{ir.Signal(3)}, Waiting: []int{0}, Err: context.DeadlineExceeded}
	fmt.Println(err)
	// Output: barrier/hsb: rank 2, epoch 1, operation 40, 1 of 2 rules fired, waiting for s3 from rank 0: context deadline exceeded
}
