package crew

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// exchangeMessages publishes the rank's messages and receives the messages of all other ranks. All
// ranks begin together and meet at a barrier at the end. A message that arrives after the expected
// ones is wrong.
func (w *worker) exchangeMessages(ctx context.Context, out *Outcome) error {
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	in := newReceiver(w.job)
	start := time.Now()
	if err := w.publishAndReceive(ctx, in); err != nil {
		return err
	}
	out.Elapsed, out.Received = time.Since(start), in.received
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	err := w.drain(in)
	out.Wrong = in.wrong
	return err
}

// publishAndReceive publishes and receives at the same time. If one fails, it cancels the other.
func (w *worker) publishAndReceive(ctx context.Context, in *receiver) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	published := make(chan error, 1)
	go func() {
		err := w.publish(ctx)
		if err != nil {
			cancel(err)
		}
		published <- err
	}()
	err := w.receive(ctx, in)
	if err != nil {
		cancel(err)
		<-published
		return err
	}
	return <-published
}

func (w *worker) publish(ctx context.Context) error {
	p := newPayload(w.job)
	for n := range w.job.Messages {
		if err := w.comm.Publish(ctx, p.make(w.job.Rank, n)); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
	}
	return nil
}

func (w *worker) receive(ctx context.Context, in *receiver) error {
	told, toldAt := 0, time.Now()
	for in.left() > 0 {
		msg, err := w.comm.Next(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", in.missing(), err)
		}
		in.take(msg)
		if now := time.Now(); now.Sub(toldAt) > batchAge {
			if err := w.send(report{Steps: in.received - told}); err != nil {
				return err
			}
			told, toldAt = in.received, now
		}
	}
	return w.send(report{Steps: in.received - told})
}

// drain takes the messages that are left. They are all wrong.
func (w *worker) drain(in *receiver) error {
	for {
		msg, ok, err := w.comm.TryNext()
		if err != nil || !ok {
			return err
		}
		in.take(msg)
	}
}

// receiver checks that every message of every other rank arrives exactly once, unchanged and in the
// order of its origin.
type receiver struct {
	rank     int
	next     []int // by origin: the number of the next message
	received int
	messages int // number of messages of each origin
	payload  *payload
	wrong    Findings
}

func newReceiver(j *Job) *receiver {
	return &receiver{rank: j.Rank, next: make([]int, j.Params.Ranks), messages: j.Messages, payload: newPayload(j)}
}

// left returns the number of messages that are still missing.
func (in *receiver) left() int { return in.messages*(len(in.next)-1) - in.received }

func (in *receiver) take(msg runtime.Message) {
	in.received++
	if msg.Origin < 0 || msg.Origin >= len(in.next) || msg.Origin == in.rank {
		in.wrong.Add(fmt.Sprintf("a message of origin %d", msg.Origin))
		return
	}
	want := in.next[msg.Origin]
	in.next[msg.Origin]++
	switch {
	case want >= in.messages:
		in.wrong.Add(fmt.Sprintf("more than %d messages of origin %d", in.messages, msg.Origin))
	case msg.Seq != uint64(want):
		in.wrong.Add(fmt.Sprintf("message %d of origin %d in place of %d", msg.Seq, msg.Origin, want))
	case !bytes.Equal(msg.Data, in.payload.make(msg.Origin, want)):
		in.wrong.Add(fmt.Sprintf("message %d of origin %d is not what was published", want, msg.Origin))
	}
}

// missing tells which messages have not arrived.
func (in *receiver) missing() string {
	least := -1
	for origin, n := range in.next {
		if origin != in.rank && (least < 0 || n < in.next[least]) {
			least = origin
		}
	}
	return fmt.Sprintf("received %d messages, %d are missing, most of them of origin %d, from message %d on", in.received, in.left(), least, in.next[least])
}

// payload makes up messages, which depend on the job, the origin and the number.
type payload struct {
	Generator
	seed uint64
	size int
}

func newPayload(j *Job) *payload { return &payload{NewGenerator(), j.Seed, int(j.Size)} }

// make returns message n of origin. It is valid until the next call.
func (p *payload) make(origin, n int) []byte {
	return p.Generator.Make(p.size, p.seed, uint64(origin), uint64(n))
}
