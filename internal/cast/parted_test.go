package cast

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// lateSink is a sink that has all data, but returns only once the sender has gone.
type lateSink struct {
	got   bytes.Buffer
	whole chan struct{} // closed when all data have come
	gone  chan struct{} // closed when the sender has gone
}

func newLateSink() *lateSink {
	return &lateSink{whole: make(chan struct{}), gone: make(chan struct{})}
}

func (s *lateSink) take(_ context.Context, r io.Reader) error {
	_, err := s.got.ReadFrom(r)
	close(s.whole)
	<-s.gone
	return err
}

// until returns a context that ends with errLeft once all data have come.
func (s *lateSink) until(ctx context.Context) context.Context {
	ctx, leave := context.WithCancelCause(ctx)
	go func() {
		<-s.whole
		leave(errLeft)
	}()
	return ctx
}

// A receiver that loses the sender before it could report that it has everything is parted from it.
// It reports over the next communicator, which brings nothing more.
func TestPartedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, sink := text(11, 20*size), newLateSink()
		in := NewIntake(t.Context(), sink.take, nil)
		cast := func(ctx context.Context, from int64) (report *Report, err, received error) {
			comms, ended := join(t, 2, mem.Options{}, "bcast/chain"), make(chan error, 1)
			go func() { ended <- in.Receive(t.Context(), comms[1], ReceiveOptions{From: from, piece: size}) }()
			report, err = Send(ctx, comms[0], Tail(parts(want, size), from), SendOptions{piece: size})
			if from == 0 {
				close(sink.gone)
			}
			return report, err, <-ended
		}
		report, err, received := cast(sink.until(t.Context()), 0)
		require.ErrorIs(t, err, errLeft)
		require.False(t, report.Outcomes[0].Done)
		require.ErrorIs(t, received, ErrParted)
		require.True(t, in.Done())
		require.EqualValues(t, len(want), in.Have())
		report, err, received = cast(t.Context(), in.Have())
		require.NoError(t, errors.Join(err, received))
		require.Equal(t, []Outcome{{Rank: 1, Done: true}}, report.Outcomes)
		require.Zero(t, report.Bytes)
		require.NoError(t, in.Close())
		require.True(t, bytes.Equal(want, sink.got.Bytes()))
	})
}

// partedHost is a host of one receiver, which parts from it when it has all data.
type partedHost struct {
	t    *testing.T
	l    *net.TCPListener
	in   *lobby.Lobby
	sink *lateSink
	want []byte
	said []string   // by the receiver
	over chan error // gets the receiver's error
}

func newPartedHost(t *testing.T) *partedHost {
	h := &partedHost{t: t, l: local(t), sink: newLateSink(), want: text(12, 20*size), over: make(chan error, 1)}
	var err error
	h.in, err = lobby.Open(h.l, lobby.Config{})
	require.NoError(t, err)
	c := &joiner{JoinOptions: JoinOptions{From: h.l.Addr().String(), To: t.TempDir(), Name: "a"}}
	c.events = newEvents(func(e Event) {
		if e.Kind == Notice {
			h.said = append(h.said, e.Text)
		}
	})
	sink := &joinSink{write: func() Sink { return h.sink.take }, totals: new(unpack.Totals)}
	go func() {
		err := c.receive(t.Context(), sink)
		h.over <- errors.Join(err, sink.stop())
	}()
	return h
}

// round waits for the receiver and sends it what it lacks, and returns its word. If the receiver
// ends before it comes, round fails the test.
func (h *partedHost) round(until func(context.Context) context.Context) (w guestWord, report *Report, err error) {
	ctx, stop := context.WithCancel(h.t.Context())
	defer stop()
	come := make(chan struct{})
	go func() {
		select {
		case err := <-h.over:
			h.over <- err
			stop()
		case <-come:
		}
	}()
	note := roundNote{Transport: Chain, Stream: "s", Silence: -1}
	party, err := h.in.Host(ctx, lobby.Reception{Want: lobby.NewCount(1), Choose: lobby.All(func(all []lobby.Guest) string {
		w = wordOf(&all[0])
		note.From = w.Have
		return note.spell()
	})})
	require.NoError(h.t, err, "the receiver has ended")
	close(come)
	meeting, met := party.Meeting(h.t.Context())
	comm, err := new(Link).join(meeting, note, &party.Place, tcp.Config{Coordinator: h.l.Addr().String(), Listener: h.l, Share: true, Guests: h.in.Welcome})
	met()
	require.NoError(h.t, err)
	report, err = Send(until(h.t.Context()), comm, Tail(parts(h.want, size), w.Have), SendOptions{})
	return w, report, err
}

// part serves the receiver, and leaves it when it has all data.
func (h *partedHost) part() {
	_, report, err := h.round(h.sink.until)
	require.ErrorIs(h.t, err, errLeft)
	require.Equal(h.t, 1, report.Failed())
}

// A receiver that has everything when it is parted from the sender enters again, so that the sender
// counts it.
func TestPartedWholeEntersAgain(t *testing.T) {
	t.Parallel()
	h := newPartedHost(t)
	h.part()
	close(h.sink.gone)
	w, report, err := h.round(func(ctx context.Context) context.Context { return ctx })
	require.NoError(t, err)
	require.Equal(t, "s", w.Stream)
	require.EqualValues(t, len(h.want), w.Have)
	require.Zero(t, report.Failed())
	require.Zero(t, report.Bytes)
	h.in.Close("")
	require.NoError(t, <-h.over)
	require.Contains(t, h.said, "parted from the sender: this host enters again; it has everything, but the sender may not know it")
	require.True(t, bytes.Equal(h.want, h.sink.got.Bytes()))
}

// A receiver that has everything ends well if the sender is gone, or takes no more receivers. It
// says that the sender may not know.
func TestPartedWholeInVain(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"gone": true, "over": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newPartedHost(t)
			h.part()
			h.in.Close("")
			why := "the sender is gone, or cannot be reached any more"
			if gone {
				require.NoError(t, h.l.Close())
				close(h.sink.gone)
				require.NoError(t, <-h.over)
			} else {
				why = "parted from the sender; the host says: " + wordsOver
				ctx, stop := context.WithCancel(t.Context())
				turned := make(chan struct{})
				go func() { turnAway(ctx, h.l, lobby.Config{}); close(turned) }()
				close(h.sink.gone)
				require.NoError(t, <-h.over)
				stop()
				<-turned
			}
			require.Equal(t, "this host has everything, but the sender may not know it: "+why, h.said[len(h.said)-1])
			require.True(t, bytes.Equal(h.want, h.sink.got.Bytes()))
		})
	}
}

// The sender counts a receiver that had everything once, however its later rounds end.
func TestLedgerKeepsWhole(t *testing.T) {
	var e ledger
	party := []lobby.Guest{{Name: "a"}, {Name: "b"}}
	e.begin(party)
	e.end(party, []Outcome{{Rank: 1, Done: true}, {Rank: 2, Reason: "lost", Silent: true}})
	require.False(t, e.served())
	require.False(t, e.has("a"))
	e.begin(party)
	require.True(t, e.has("a"))
	require.False(t, e.has("b"))
	e.end(party, []Outcome{{Rank: 1, Reason: "lost", Silent: true}, {Rank: 2, Done: true}})
	e.fail(party[:1], errLeft)
	e.unserved(party, errLeft)
	require.True(t, e.served())
	require.Equal(t, 2, e.done())
	for _, r := range e.receivers() {
		require.True(t, r.Done)
		require.Empty(t, r.Reason)
	}
}
