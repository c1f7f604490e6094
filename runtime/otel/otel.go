// Package otel hands the operations of communicators to OpenTelemetry, as spans.
//
//	spans, err := otel.New(otel.Options{Tracer: provider.Tracer("schedgen"), Job: job})
//	comm, err := runtime.Join(ctx, runtime.Config{Observe: runtime.Observe{Trace: spans.Event}})
//
// An operation is a span of each rank, from its begin to its end. The spans of all ranks are of one
// trace: its number, and that of the spans' parent, follow from the job and the operation, so ranks
// agree on them without a message. The parent itself is sent by nobody. A span has an event when
// the rank asks another one for chunks, or repairs another one's loss.
//
// The package uses the interfaces of OpenTelemetry alone. The program chooses what records and sends
// spans. A sampler that heeds the parent, as most do, keeps the operations that Options.Every
// chooses, at all ranks.
package otel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/schedgen/schedgen/runtime"
)

// Options say what becomes of operations.
type Options struct {
	Tracer trace.Tracer // makes the spans; must be set

	// Job tells the traces of this job from those of other jobs. It must be the same at all ranks,
	// and not empty: for example the number that a batch system has given to the job.
	Job string

	// Every traces the operations of a communicator whose number is a multiple of it. It must be
	// the same at all ranks. 0 means 1: all operations.
	Every uint64

	// Within is the span of the program to which every span is linked; the zero value: none.
	Within trace.SpanContext
}

// Spans makes spans of the events of a process.
type Spans struct {
	o    Options
	open map[operation]trace.Span
}

// operation identifies an operation among those of a job.
type operation struct {
	first int // with comm and epoch: the communicator
	comm  uint8
	epoch uint32
	seq   uint64
}

// New returns an error if an option is missing.
func New(o Options) (*Spans, error) {
	switch {
	case o.Tracer == nil:
		return nil, errors.New("otel: Options.Tracer: must be set")
	case o.Job == "":
		return nil, errors.New("otel: Options.Job: must not be empty")
	}
	o.Every = max(o.Every, 1)
	return &Spans{o: o, open: make(map[operation]trace.Span)}, nil
}

// Event is for Observe.Trace.
func (s *Spans) Event(e runtime.Event) {
	if e.Seq%s.o.Every != 0 {
		return
	}
	of := operation{e.First, e.Comm, e.Epoch, e.Seq}
	span := s.open[of]
	switch {
	case e.Kind == runtime.EventBegan:
		s.open[of] = s.start(of, &e)
	case span == nil: // a put that has come before the operation has begun
	case e.Kind == runtime.EventRepair, e.Kind == runtime.EventAsked:
		span.AddEvent(string(e.Kind), trace.WithTimestamp(e.At), trace.WithAttributes(
			attribute.Int("schedgen.peer", e.Peer), attribute.String("schedgen.slot", e.Slot.String())))
	case e.Kind == runtime.EventEnded:
		delete(s.open, of)
		if e.Err != nil {
			span.RecordError(e.Err, trace.WithTimestamp(e.At))
			span.SetStatus(codes.Error, e.Err.Error())
		}
		span.End(trace.WithTimestamp(e.At))
	}
}

// start starts the span of an operation.
func (s *Spans) start(of operation, e *runtime.Event) trace.Span {
	options := []trace.SpanStartOption{trace.WithTimestamp(e.At), trace.WithAttributes(
		attribute.Int("schedgen.process", e.Process), attribute.Int("schedgen.rank", e.Rank),
		attribute.Int("schedgen.comm", int(e.Comm)), attribute.Int64("schedgen.epoch", int64(e.Epoch)),
		attribute.Int64("schedgen.operation", int64(e.Seq)), attribute.Int("schedgen.root", e.Root), attribute.Int("schedgen.bytes", e.Bytes))}
	if s.o.Within.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: s.o.Within}))
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent(s.o.Job, of))
	_, span := s.o.Tracer.Start(ctx, e.Op, options...)
	return span
}

// parent returns the common parent of the spans of an operation.
func parent(job string, of operation) trace.SpanContext {
	var c trace.SpanContextConfig
	h := fnv.New128a()
	fmt.Fprintf(h, "%q %d %d %d %d", job, of.first, of.comm, of.epoch, of.seq)
	h.Sum(c.TraceID[:0])
	binary.BigEndian.PutUint64(c.SpanID[:], binary.BigEndian.Uint64(c.TraceID[8:])|1) // no number may be 0
	c.TraceFlags = trace.FlagsSampled
	return trace.NewSpanContext(c)
}
