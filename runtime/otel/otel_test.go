package otel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// recorder is a tracer that keeps its spans.
type recorder struct {
	noop.Tracer
	spans []*span
}

// span is what a tracer has been told of a span.
type span struct {
	noop.Span
	name         string
	parent       trace.SpanContext
	began, ended time.Time
	attributes   map[string]any
	links        []trace.Link
	events       []string
	status       codes.Code
	err          error
}

func (r *recorder) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	c := trace.NewSpanStartConfig(options...)
	s := &span{name: name, parent: trace.SpanContextFromContext(ctx), began: c.Timestamp(), links: c.Links(), attributes: map[string]any{}}
	for _, a := range c.Attributes() {
		s.attributes[string(a.Key)] = a.Value.AsInterface()
	}
	r.spans = append(r.spans, s)
	return ctx, s
}

func (s *span) End(options ...trace.SpanEndOption) {
	c := trace.NewSpanEndConfig(options...)
	s.ended = c.Timestamp()
}

func (s *span) AddEvent(name string, _ ...trace.EventOption)        { s.events = append(s.events, name) }
func (s *span) SetStatus(code codes.Code, _ string)                 { s.status = code }
func (s *span) RecordError(err error, options ...trace.EventOption) { s.err = err }

// Ranks put the spans of an operation under one parent, and those of other operations under others.
func TestSpansOfRanks(t *testing.T) {
	net, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	within := parent("the program", operation{})
	var tracers [2]recorder
	var comms [2]*runtime.Comm
	for r := range comms {
		spans, err := New(Options{Tracer: &tracers[r], Job: "7", Every: 2, Within: within})
		require.NoError(t, err)
		comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: net[r], Observe: runtime.Observe{Trace: spans.Event},
			Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/linear"}}})
		require.NoError(t, err)
	}
	for range 4 {
		for _, c := range comms {
			require.NoError(t, c.Bcast(t.Context(), make([]byte, 10), 0)) // the root does not wait
		}
	}
	for r, c := range comms {
		require.NoError(t, c.Close())
		all := tracers[r].spans
		require.Len(t, all, 2, "of four operations")
		for i, s := range all {
			require.Equal(t, "bcast/linear", s.name)
			require.Equal(t, int64(2*(i+1)), s.attributes["schedgen.operation"])
			require.Equal(t, []any{int64(r), int64(r), int64(0), int64(10)},
				[]any{s.attributes["schedgen.process"], s.attributes["schedgen.rank"], s.attributes["schedgen.root"], s.attributes["schedgen.bytes"]})
			require.True(t, s.parent.IsValid() && s.parent.IsRemote() && s.parent.IsSampled())
			require.Equal(t, tracers[0].spans[i].parent, s.parent)
			require.Equal(t, []trace.Link{{SpanContext: within}}, s.links)
			require.False(t, s.began.IsZero() || s.ended.Before(s.began))
			require.NoError(t, s.err)
		}
		require.NotEqual(t, all[0].parent.TraceID(), all[1].parent.TraceID())
	}
}

// A span tells of repairs, and of the error.
func TestSpanOfAFailure(t *testing.T) {
	var r recorder
	s, err := New(Options{Tracer: &r, Job: "7"})
	require.NoError(t, err)
	lost := errors.New("rank lost")
	for _, e := range []runtime.Event{
		{Kind: runtime.EventArrived, Seq: 3, Slot: ir.Chunk(1)}, // before the begin
		{Kind: runtime.EventBegan, Seq: 3, Op: "bcast/chain"},
		{Kind: runtime.EventPut, Seq: 3, Slot: ir.Chunk(0)},
		{Kind: runtime.EventAsked, Seq: 3, Slot: ir.Chunk(2), Peer: 1},
		{Kind: runtime.EventRepair, Seq: 3, Slot: ir.Chunk(2), Peer: 4},
		{Kind: runtime.EventEnded, Seq: 3, Err: lost, At: time.Unix(9, 0)},
	} {
		s.Event(e)
	}
	require.Empty(t, s.open)
	require.Len(t, r.spans, 1)
	got := r.spans[0]
	require.Equal(t, []string{"asked", "repair"}, got.events)
	require.Equal(t, codes.Error, got.status)
	require.Equal(t, lost, got.err)
	require.Equal(t, time.Unix(9, 0), got.ended)
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Job: "7"})
	require.ErrorContains(t, err, "Options.Tracer")
	_, err = New(Options{Tracer: &recorder{}})
	require.ErrorContains(t, err, "Options.Job")
}
