package cast

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// join makes communicators among size ranks, with the broadcasts of a chain.
func join(t require.TestingT, size int, o mem.Options, algorithm string) []*runtime.Comm {
	ts, err := mem.New(size, o)
	require.NoError(t, err)
	comms := make([]*runtime.Comm, size)
	for r := range comms {
		comms[r], err = runtime.Join(context.Background(), runtime.Config{Transport: ts[r], Algorithms: runtime.Algorithms{"bcast": {Name: algorithm}}})
		require.NoError(t, err)
	}
	return comms
}

// text returns n random bytes.
func text(seed uint64, n int) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0] = byte(seed)
	rand.NewChaCha8(key).Read(b)
	return b
}

// parts returns a source that writes b in writes of n bytes.
func parts(b []byte, n int) Source {
	return func(_ context.Context, w io.Writer) error {
		for rest := b; len(rest) > 0; {
			k := min(n, len(rest))
			if _, err := w.Write(rest[:k]); err != nil {
				return err
			}
			rest = rest[k:]
		}
		return nil
	}
}

// all returns a sink that keeps the data.
func all(into *bytes.Buffer) Sink {
	return func(_ context.Context, r io.Reader) error {
		_, err := into.ReadFrom(r)
		return err
	}
}

// size is the length of pieces in most tests. With small pieces, few bytes are enough.
const size = firstLen

// world is one cast.
type world struct {
	comms  []*runtime.Comm
	got    []bytes.Buffer
	errs   []error // of receivers; by rank
	report *Report
	err    error
	ctx    func(rank int) context.Context
	sink   func(rank int) Sink
	o      SendOptions
	r      ReceiveOptions
}

func newWorld(comms []*runtime.Comm) *world {
	w := &world{comms: comms, got: make([]bytes.Buffer, len(comms)), errs: make([]error, len(comms))}
	w.o.piece, w.r.piece = size, size
	w.ctx = func(int) context.Context { return context.Background() }
	w.sink = func(rank int) Sink { return all(&w.got[rank]) }
	return w
}

// run casts and returns when all have returned.
func (w *world) run(source Source) {
	var wg sync.WaitGroup
	for rank, comm := range w.comms[1:] {
		wg.Go(func() { w.errs[rank+1] = Receive(w.ctx(rank+1), comm, w.sink(rank+1), w.r) })
	}
	w.report, w.err = Send(w.ctx(0), w.comms[0], source, w.o)
	wg.Wait()
}

// pausing makes all ranks pause after drawn pieces.
func pausing(t *rapid.T) func(uint64) bool {
	every := rapid.SampledFrom([]uint64{0, 1, 3, stride}).Draw(t, "pause")
	return func(behind uint64) bool { return every > 0 && behind%every == 0 }
}

// All data arrive among a few ranks, over networks that lose packets.
func TestArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		n := rapid.OneOf(rapid.IntRange(0, 2*firstLen), rapid.IntRange(0, 5*stride*size),
			rapid.SampledFrom([]int{firstLen - headLen, firstLen - headLen + 1, firstLen + size - 2*headLen, stride*size + 1})).Draw(t, "bytes")
		o, algorithm := mem.Options{Seed: 1}, "bcast/chain"
		if rapid.Bool().Draw(t, "mcast") {
			o.Loss, algorithm = 0.02, "bcast/mcast-acktree"
		}
		w := newWorld(join(t, ranks, o, algorithm))
		w.o.stale = pausing(t)
		want := text(1, n)
		w.run(parts(want, rapid.SampledFrom([]int{1 << 10, 10_000, 5 << 20}).Draw(t, "write")))
		require.NoError(t, w.err)
		require.EqualValues(t, n, w.report.Bytes)
		require.Len(t, w.report.Outcomes, ranks-1)
		require.Zero(t, w.report.Failed())
		for rank := 1; rank < ranks; rank++ {
			require.NoError(t, w.errs[rank])
			require.True(t, bytes.Equal(want, w.got[rank].Bytes()), "rank %d has %d bytes", rank, w.got[rank].Len())
		}
	})
}

// failing returns a sink that fails after a number of bytes.
func failing(after int64) Sink {
	return func(_ context.Context, r io.Reader) error {
		if _, err := io.CopyN(io.Discard, r, after); err != nil {
			return err
		}
		return errors.New("no space left on device")
	}
}

// A sink that fails at any moment does not stop other ranks, and the sender knows the reason.
func TestSinkFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(3, 5).Draw(t, "ranks")
		want := text(2, rapid.IntRange(0, 3*bufs*size/2).Draw(t, "bytes"))
		bad := rapid.IntRange(1, ranks-1).Draw(t, "bad")
		after := rapid.Int64Range(0, int64(len(want))).Draw(t, "after")
		w := newWorld(join(t, ranks, mem.Options{}, "bcast/chain"))
		sink := w.sink
		w.sink = func(rank int) Sink {
			if rank == bad {
				return failing(after)
			}
			return sink(rank)
		}
		w.run(parts(want, 1<<20))
		require.NoError(t, w.err)
		for rank := 1; rank < ranks; rank++ {
			if rank == bad {
				require.EqualError(t, w.errs[rank], "receive: no space left on device")
				require.Equal(t, Outcome{Rank: rank, Reason: "no space left on device", told: true}, w.report.Outcomes[rank-1])
				continue
			}
			require.NoError(t, w.errs[rank])
			require.Equal(t, Outcome{Rank: rank, Done: true}, w.report.Outcomes[rank-1])
			require.True(t, bytes.Equal(want, w.got[rank].Bytes()))
		}
	})
}

// endless is a source that ends when its context ends or a write fails.
func endless(_ context.Context, w io.Writer) error {
	b := make([]byte, 100_000)
	for {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
}

// With Strict, the first rank that fails ends the cast for all.
func TestStrict(t *testing.T) {
	w := newWorld(join(t, 4, mem.Options{}, "bcast/chain"))
	w.o.Strict = true
	w.sink = func(rank int) Sink {
		if rank == 2 {
			return failing(40 * size)
		}
		return func(_ context.Context, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	}
	w.run(endless)
	require.EqualError(t, w.err, "send: rank 2: no space left on device")
	require.ErrorContains(t, w.errs[2], "no space left on device")
	for _, rank := range []int{1, 3} {
		require.ErrorIs(t, w.errs[rank], errBroken)
		require.Equal(t, Outcome{Rank: rank, Reason: errBroken.Error() + ": rank 2: no space left on device", told: true}, w.report.Outcomes[rank-1])
	}
}

// Once all receivers have failed, the sender sends no more.
func TestAllFail(t *testing.T) {
	w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
	w.sink = func(int) Sink { return failing(20 * size) }
	w.run(endless)
	require.ErrorIs(t, w.err, ErrNobody)
	require.Equal(t, 2, w.report.Failed())
}

// Ranks that leave at any moment are named, and the other ranks get everything.
func TestRanksGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(3, 5).Draw(t, "ranks")
		want := text(3, rapid.IntRange(0, 5*stride*size).Draw(t, "bytes"))
		w := newWorld(join(t, ranks, mem.Options{}, rapid.SampledFrom([]string{"bcast/chain", "bcast/mcast-chain", "bcast/mcast-acktree"}).Draw(t, "algorithm")))
		w.o.stale = pausing(t)
		gone := map[int]bool{}
		ctxs, sinks := make([]context.Context, ranks), make([]Sink, ranks)
		for rank := range ranks {
			ctxs[rank], sinks[rank] = context.Background(), w.sink(rank)
		}
		for _, rank := range rapid.SliceOfNDistinct(rapid.IntRange(1, ranks-1), 1, min(2, ranks-2), rapid.ID).Draw(t, "gone") {
			ctx, leave := context.WithCancelCause(context.Background())
			defer leave(nil)
			gone[rank], ctxs[rank] = true, ctx
			sinks[rank] = leaving(rapid.Int64Range(0, int64(len(want))).Draw(t, "after"), leave)
		}
		w.ctx = func(rank int) context.Context { return ctxs[rank] }
		w.sink = func(rank int) Sink { return sinks[rank] }
		w.run(parts(want, 1<<20))
		require.NoError(t, w.err)
		for rank := 1; rank < ranks; rank++ {
			o := w.report.Outcomes[rank-1]
			if gone[rank] {
				require.ErrorIs(t, w.errs[rank], errLeft)
				require.False(t, o.Done)
				require.Regexp(t, "^lost: it has left$|^Ctrl-C$", o.Reason, "the network says so, or its last words")
				continue
			}
			require.NoError(t, w.errs[rank])
			require.Equal(t, Outcome{Rank: rank, Done: true}, o)
			require.True(t, bytes.Equal(want, w.got[rank].Bytes()), "rank %d has %d bytes of %d", rank, w.got[rank].Len(), len(want))
		}
	})
}

// leaving returns the sink of a rank whose program is interrupted after a number of bytes.
func leaving(after int64, leave context.CancelCauseFunc) Sink {
	return func(ctx context.Context, r io.Reader) error {
		if _, err := io.CopyN(io.Discard, r, after); err != nil {
			return err
		}
		leave(errLeft)
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

var errLeft = errors.New("Ctrl-C")

// If the sender leaves, all ranks get an error.
func TestSenderGoes(t *testing.T) {
	w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
	ctx, cancel := context.WithCancelCause(t.Context())
	w.ctx = func(rank int) context.Context {
		if rank == 0 {
			return ctx
		}
		return context.Background()
	}
	w.o.Progress = func(p Progress) {
		if p.Bytes > 40*size {
			cancel(errLeft)
		}
	}
	w.sink = func(int) Sink {
		return func(_ context.Context, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	}
	w.run(endless)
	require.ErrorIs(t, w.err, errLeft)
	require.Equal(t, 2, w.report.Failed())
	for _, err := range w.errs[1:] {
		require.ErrorIs(t, err, errSender)
	}
}

// An error of the source ends the cast at any point.
func TestSourceFails(t *testing.T) {
	for _, after := range []int{0, 1, firstLen, size, 5*size + 1, 20 * size} {
		w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
		w.run(func(ctx context.Context, out io.Writer) error {
			if err := parts(make([]byte, after), 1<<16)(ctx, out); err != nil {
				return err
			}
			return errors.New("input/output error")
		})
		require.EqualError(t, w.err, "send: input/output error")
		for _, o := range w.report.Outcomes {
			require.Equal(t, errBroken.Error()+": input/output error", o.Reason, "after %d", after)
		}
		for _, err := range w.errs[1:] {
			require.ErrorIs(t, err, errBroken)
			require.ErrorContains(t, err, ": input/output error", "a receiver says why as well")
		}
	}
}

// A sink that takes nothing is given up after Patience, and the other ranks continue.
func TestSlowSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
		w.r.Patience = time.Minute
		sink, began := w.sink, time.Now()
		w.sink = func(rank int) Sink {
			if rank == 1 {
				return func(ctx context.Context, _ io.Reader) error { <-ctx.Done(); return context.Cause(ctx) }
			}
			return sink(rank)
		}
		want := text(4, 40*size)
		w.run(parts(want, 1<<20))
		require.NoError(t, w.err)
		require.GreaterOrEqual(t, time.Since(began), time.Minute)
		require.Less(t, time.Since(began), 2*time.Minute)
		require.Equal(t, []Outcome{{Rank: 1, Reason: "nothing could be written for 1m0s, while others waited", told: true}, {Rank: 2, Done: true}}, w.report.Outcomes)
		require.True(t, bytes.Equal(want, w.got[2].Bytes()))
	})
}

// The rate stays within Limit, except for the first piece.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(join(t, 2, mem.Options{}, "bcast/chain"))
		w.o.Limit = size
		began := time.Now()
		w.run(parts(make([]byte, 30*size), 1<<20))
		require.NoError(t, w.err)
		require.InDelta(t, 29, time.Since(began).Seconds(), 1)
	})
}

// A sender allocates no more than most pieces, for any amount of data and any slow receiver.
func TestBounded(t *testing.T) {
	f, ended := newFeed(t.Context(), parts(make([]byte, 2*most*size), 1<<20), size)
	for range 2*most - ahead {
		p := <-f.full
		f.free <- p
	}
	for range f.full {
	}
	<-ended
	require.NoError(t, f.err)
	require.LessOrEqual(t, f.made, most)
}

// The answers of receivers come to the sender. A receiver that fails does not answer.
func TestAnswers(t *testing.T) {
	w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
	w.r.Answer = func() []byte { return []byte("an answer") }
	sink := w.sink
	w.sink = func(rank int) Sink {
		if rank == 2 {
			return failing(3 * size)
		}
		return sink(rank)
	}
	w.run(parts(text(5, 10*size), 1<<20))
	require.NoError(t, w.err)
	require.Equal(t, []Outcome{{Rank: 1, Done: true, Answer: []byte("an answer")}, {Rank: 2, Reason: "no space left on device", told: true}}, w.report.Outcomes)
}

// Only rank 0 sends, and it does not receive.
func TestRoles(t *testing.T) {
	comms := join(t, 2, mem.Options{}, "bcast/chain")
	require.ErrorContains(t, Receive(t.Context(), comms[0], failing(0), ReceiveOptions{}), "rank 0 is the sender")
	_, err := Send(t.Context(), comms[1], endless, SendOptions{})
	require.ErrorContains(t, err, "only rank 0 can")
}

// A piece with a changed byte is refused.
func TestPiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := head{number: rapid.Uint64Range(1, 1<<40).Draw(t, "number"), flags: rapid.SampledFrom([]byte{0, flagLast, flagLast | flagBroken, flagPause}).Draw(t, "flags")}
		b := append(make([]byte, headLen), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
		h.length = len(b) - headLen
		if h.flags == 0 {
			h.announce = rapid.SliceOfN(rapid.IntRange(headLen, pieceLen), 1, 2).Draw(t, "announce")
		}
		h.seal(b)
		got, err := open(b)
		require.NoError(t, err)
		require.Equal(t, h, got)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err = open(b)
		require.ErrorIs(t, err, errPiece)
	})
}

// FuzzPiece checks that other bytes than a piece are an error, even with a right checksum.
func FuzzPiece(f *testing.F) {
	h := head{number: 3, length: 4, announce: []int{pieceLen, headLen}}
	b := append(make([]byte, headLen), "text"...)
	h.seal(b)
	f.Add(b)
	f.Add([]byte(strings.Repeat("\x00", headLen)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headLen {
			mend(b)
		}
		h, err := open(b)
		switch {
		case err != nil && !errors.Is(err, errPiece):
			t.Fatal(err)
		case err == nil && (h.length < 0 || headLen+h.length > len(b) || len(h.announce) > 2):
			t.Fatalf("%+v of %d bytes", h, len(b))
		}
	})
}

// mend sets the magic and the checksum of a piece.
func mend(b []byte) {
	sealed := append([]byte(nil), b...)
	(&head{}).seal(sealed)
	copy(b, sealed[:4])
	copy(b[4:], checksum(b[8:]))
}
