package perfetto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/perfetto"
)

// event has the fields of the Trace Event Format that this package writes.
type event struct {
	Ph   string         `json:"ph"`
	Name string         `json:"name"`
	Cat  string         `json:"cat"`
	Ts   *float64       `json:"ts"`
	Pid  *int           `json:"pid"`
	Tid  *int           `json:"tid"`
	S    string         `json:"s"`
	ID   *uint64        `json:"id"`
	Bp   string         `json:"bp"`
	Args map[string]any `json:"args"`
}

// parse reads a trace and allows no unknown field.
func parse(t *testing.T, text []byte) (all []event) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&all))
	_, err := dec.Token()
	require.ErrorIs(t, err, io.EOF)
	return all
}

type trackOf struct{ pid, tid int }

// check tests a trace against the rules of the format: slices nest on each track and are all closed
// if the trace is whole, times do not decrease on a track, and every arrow that ends has begun.
func check(t *testing.T, all []event, whole bool) (slices, arrows int) {
	open, last, named := map[trackOf][]string{}, map[trackOf]float64{}, map[trackOf]bool{}
	begun, ended := map[uint64]float64{}, map[uint64]float64{}
	for _, e := range all {
		require.NotNil(t, e.Pid)
		require.NotNil(t, e.Tid)
		at := trackOf{*e.Pid, *e.Tid}
		if e.Ph == "M" {
			named[at] = named[at] || e.Name == "thread_name"
			continue
		}
		require.NotNil(t, e.Ts)
		require.GreaterOrEqual(t, *e.Ts, last[at])
		last[at] = *e.Ts
		require.True(t, named[at], "%+v", e)
		switch e.Ph {
		case "B":
			require.NotEmpty(t, e.Name)
			open[at] = append(open[at], e.Name)
			slices++
		case "E":
			require.NotEmpty(t, open[at])
			open[at] = open[at][:len(open[at])-1]
		case "i":
			require.Equal(t, "t", e.S)
		case "s":
			require.NotEmpty(t, open[at], "an arrow begins in a slice")
			if first, again := begun[*e.ID]; !again || *e.Ts < first { // a repair puts the slot again
				begun[*e.ID] = *e.Ts
			}
		case "f":
			require.Equal(t, "e", e.Bp)
			require.NotEmpty(t, open[at], "an arrow ends in a slice")
			require.NotContains(t, ended, *e.ID)
			ended[*e.ID] = *e.Ts
		default:
			t.Fatalf("no kind of event: %+v", e)
		}
	}
	for at, names := range open {
		require.LessOrEqual(t, len(names), 1, "%v: operations stand beside each other", at)
		require.True(t, !whole || len(names) == 0, "%v: %v", at, names)
	}
	for id, ts := range ended { // a put after the end of its operation, which answers a request, begins no arrow
		require.LessOrEqual(t, begun[id], ts)
		if begun[id] > 0 {
			arrows++
		}
	}
	return slices, arrows
}

// trace has ranks work over memory, and returns the file that they have written together.
func trace(t *testing.T, size, rounds int, loss float64) []byte {
	name := filepath.Join(t.TempDir(), "trace.json")
	head, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	require.NoError(t, err)
	require.NoError(t, perfetto.Begin(head))
	ts, err := mem.New(size, mem.Options{Loss: loss, Seed: 5})
	require.NoError(t, err)
	var wg sync.WaitGroup
	errs := make([]error, size)
	for rank := range size {
		wg.Go(func() { errs[rank] = work(t, name, ts[rank], rounds) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, errors.Join(perfetto.End(head), head.Close()))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}

// work is one rank. It broadcasts four messages at a time and enters barriers, and writes to the
// file through a descriptor of its own.
func work(t *testing.T, name string, tr *mem.Transport, rounds int) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	w := perfetto.New(f, perfetto.Options{Process: tr.Rank()})
	comm, err := runtime.Join(t.Context(), runtime.Config{Transport: tr, Observe: runtime.Observe{Trace: w.Event}, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}})
	if err != nil {
		return err
	}
	half, err := comm.Split(t.Context(), tr.Rank()%2, 0)
	if err != nil {
		return err
	}
	for range rounds {
		var reqs [4]*runtime.Request
		for i := range reqs {
			if reqs[i], err = comm.StartBcast(t.Context(), make([]byte, 1000), i%comm.Size()); err != nil {
				return err
			}
		}
		for _, r := range reqs {
			if err := r.Wait(t.Context()); err != nil {
				return err
			}
		}
		if err := errors.Join(comm.Barrier(t.Context()), half.Barrier(t.Context())); err != nil {
			return err
		}
	}
	return errors.Join(half.Close(), comm.Close(), w.Close(), f.Close())
}

func TestTraceKeepsTheRules(t *testing.T) {
	const size = 5
	var text []byte
	for rounds, loss := range map[int]float64{40: 0, 2: 0.5} {
		text = trace(t, size, rounds, loss)
		slices, arrows := check(t, parse(t, text), true)
		// Besides the rounds there are the operations of Split: two exchanges and a barrier of all
		// ranks.
		require.Equal(t, size*(6*rounds+3), slices)
		require.NotZero(t, arrows)
	}
	for _, want := range []string{`"name":"rank 4"`, `"operations, 3 more at once"`, `"operations of communicator 1"`, `"bcast/mcast-acktree"`} {
		require.Contains(t, string(text), want)
	}
}

// A trace that is cut off after any line opens once the end is added, which readers do themselves.
func TestTraceThatIsCutOff(t *testing.T) {
	events, _, found := strings.Cut(string(trace(t, 3, 3, 0.2)), `{"ph":"M","name":"trace_end"`)
	require.True(t, found)
	lines := strings.SplitAfter(events, "\n")
	for n := 2; n < len(lines); n += 7 {
		text := strings.Join(lines[:n], "")
		require.True(t, strings.HasSuffix(text, "},\n"), text)
		check(t, parse(t, []byte(strings.TrimSuffix(text, ",\n")+"]")), false)
	}
}

// An error is written at the end; its text is a valid JSON string and is bounded.
func TestErrorsInATrace(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, perfetto.Begin(&b))
	w := perfetto.New(&b, perfetto.Options{Process: 3})
	now := time.Now()
	w.Event(runtime.Event{Kind: runtime.EventArrived, At: now, Seq: 7, Slot: ir.Signal(2), Peer: 1}) // no track yet, and before its operation
	w.Event(runtime.Event{Kind: runtime.EventEnded, At: now, Seq: 5})                                // of an unknown operation
	w.Event(runtime.Event{Kind: runtime.EventBegan, At: now, Seq: 7, Op: `a"b`, Root: -1})
	w.Event(runtime.Event{Kind: runtime.EventEnded, At: now, Seq: 7, Err: errors.New("bad \"\n\xff" + strings.Repeat("x", 1<<20))})
	require.NoError(t, w.Close())
	require.NoError(t, perfetto.End(&b))
	require.Less(t, b.Len(), 8<<10)
	all := parse(t, b.Bytes())
	check(t, all, true)
	require.Contains(t, fmt.Sprint(all), "bad")
	require.Contains(t, fmt.Sprint(all), `a"b`)
}

// A time before the start of the host is written as 0. Times of another kind of clock must not
// spoil the file.
func TestTimesBeforeAll(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, perfetto.Begin(&b))
	w := perfetto.New(&b, perfetto.Options{})
	w.Event(runtime.Event{Kind: runtime.EventBegan, Seq: 1, Op: "barrier/hsb", Root: -1})
	w.Event(runtime.Event{Kind: runtime.EventEnded, At: time.Now(), Seq: 1})
	require.NoError(t, w.Close())
	require.NoError(t, perfetto.End(&b))
	check(t, parse(t, b.Bytes()), true)
}

// failing accepts left bytes, and then fails.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// A full disk does not stop the ranks. Close returns the error.
func TestTraceThatCannotBeWritten(t *testing.T) {
	w := perfetto.New(&failing{left: 100 << 10}, perfetto.Options{})
	for seq := range uint64(10000) {
		w.Event(runtime.Event{Kind: runtime.EventBegan, At: time.Now(), Seq: seq + 1, Op: "barrier/hsb", Root: -1})
		w.Event(runtime.Event{Kind: runtime.EventEnded, At: time.Now(), Seq: seq + 1})
	}
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	require.ErrorIs(t, perfetto.End(new(failing)), io.ErrShortWrite)
}

// A small amount is written soon too, so that a rank that is killed has written nearly all. When
// all is written, no timer is left.
func TestLittleIsWrittenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b guarded
		w := perfetto.New(&b, perfetto.Options{})
		for round := range 3 {
			before := b.Len()
			w.Event(runtime.Event{Kind: runtime.EventBegan, At: time.Now(), Seq: uint64(round + 1), Op: "barrier/hsb", Root: -1})
			require.Equal(t, before, b.Len())
			time.Sleep(time.Second) // virtual
			synctest.Wait()
			require.Greater(t, b.Len(), before)
		}
		written := b.Len()
		require.NoError(t, w.Close())
		require.Equal(t, written, b.Len())
	})
}

// guarded is a buffer that a timer writes to while a test reads it.
type guarded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *guarded) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Len()
}

// BenchmarkEvent measures what a traced arrival costs a rank.
func BenchmarkEvent(b *testing.B) {
	w := perfetto.New(io.Discard, perfetto.Options{})
	e := runtime.Event{At: time.Now(), Seq: 1, Op: "barrier/hsb", Root: -1, Slot: ir.Signal(1), Peer: 3}
	e.Kind = runtime.EventBegan
	w.Event(e)
	e.Kind = runtime.EventArrived
	for b.Loop() {
		w.Event(e)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
