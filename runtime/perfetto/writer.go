package perfetto

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime"
)

// Options configure a Writer.
type Options struct {
	Process int         // rank of this process, which names its tracks
	Clock   clock.Clock // clock of the communicator; default clock.System
}

const (
	full   = 32 << 10               // number of bytes at which the buffer is written
	delay  = 200 * time.Millisecond // after which the buffer is written in any case, so that a trace that is cut off lacks little
	maxErr = 1 << 10                // greatest length of an error text in bytes
)

// Writer writes the events of a process. It buffers at most about 32 KiB of them.
type Writer struct {
	w      io.Writer
	pid    int
	clock  clock.Clock
	anchor time.Time     // a moment by clock,
	base   time.Duration // and the same moment by the monotonic clock of the host

	mu    sync.Mutex
	buf   []byte
	timer clock.Timer // nil before the first event
	armed bool
	err   error
	lanes [1 << 8]*lanes // indexed by communicator
}

// Begin writes the start of a trace to w.
func Begin(w io.Writer) error { return write(w, "[\n") }

// End writes the end of a trace to w. All writers must be closed before.
func End(w io.Writer) error {
	return write(w, `{"ph":"M","name":"trace_end","pid":0,"tid":0,"args":{}}`+"\n]\n")
}

func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

// New returns a Writer that writes whole lines to w.
func New(w io.Writer, o Options) *Writer {
	c := clock.OrSystem(o.Clock)
	t := &Writer{w: w, pid: o.Process, clock: c, buf: make([]byte, 0, full+4*maxErr)}
	t.anchor, t.base = sameMoment(c)
	t.meta("process_name", 0, fmt.Sprintf(`"name":"rank %d"`, o.Process))
	t.meta("process_sort_index", 0, fmt.Sprintf(`"sort_index":%d`, o.Process))
	return t
}

// tries is how often sameMoment reads the two clocks.
const tries = 16

// sameMoment returns one moment by c and by the clock of the host. The process may be stopped
// between two readings, so sameMoment takes the closest of several pairs.
func sameMoment(c clock.Clock) (now time.Time, base time.Duration) {
	least := time.Duration(-1)
	for range tries {
		before := clock.Monotonic()
		read := c.Now()
		gap := clock.Monotonic() - before
		if least < 0 || gap < least {
			least, now, base = gap, read, before+gap/2
		}
	}
	return now, base
}

// Event writes an event. Set it as Trace of [runtime.Observe].
func (t *Writer) Event(e runtime.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	if t.lanes[e.Comm] == nil {
		t.open(e.Comm)
	}
	switch e.Kind {
	case runtime.EventBegan:
		t.began(&e)
	case runtime.EventEnded:
		t.ended(&e)
	default:
		t.mark(&e)
	}
	t.bound()
}

// bound writes the buffer if it is full, and otherwise sets a timer that writes it soon.
func (t *Writer) bound() {
	switch {
	case len(t.buf) >= full:
		t.flush()
	case t.armed:
	case t.timer == nil:
		t.armed, t.timer = true, t.clock.AfterFunc(delay, t.late)
	default:
		t.armed = true
		t.timer.Reset(delay)
	}
}

func (t *Writer) late() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	t.flush()
}

func (t *Writer) flush() {
	if t.err == nil && len(t.buf) > 0 {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
}

// Close writes the rest of the buffer and returns the first error of all writes. Event must not be
// called after Close.
func (t *Writer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.flush()
	if t.err != nil {
		return fmt.Errorf("write the trace: %w", t.err)
	}
	return nil
}

// began opens a slice on the first free track of the communicator.
func (t *Writer) began(e *runtime.Event) {
	lane := max(0, t.lanes[e.Comm].find(0)) // there are as many tracks as there may be open operations
	t.lanes[e.Comm][lane] = e.Seq
	t.head(e, 'B', "operation", lane)
	t.add(`,"name":`)
	t.quoted(e.Op)
	t.num(`,"args":{"seq":`, int64(e.Seq))
	t.num(`,"rank":`, int64(e.Rank))
	if e.Root >= 0 {
		t.num(`,"root":`, int64(e.Root))
		t.num(`,"bytes":`, int64(e.Bytes))
	}
	t.add("}},\n")
}

// ended closes the slice of an operation.
func (t *Writer) ended(e *runtime.Event) {
	lane := t.lanes[e.Comm].find(e.Seq)
	if lane < 0 {
		return // the operation began before the trace
	}
	t.lanes[e.Comm][lane] = 0
	t.head(e, 'E', "operation", lane)
	if e.Err != nil {
		text := e.Err.Error()
		t.add(`,"args":{"error":`)
		t.quoted(text[:min(len(text), maxErr)])
		t.add("}")
	}
	t.add("},\n")
}

// mark writes a mark for an event between the begin and the end of an operation. An event of an
// operation that has not begun is marked on the first track.
func (t *Writer) mark(e *runtime.Event) {
	lane := t.lanes[e.Comm].find(e.Seq)
	slot := e.Slot.String()
	t.head(e, 'i', string(e.Kind), max(0, lane))
	t.add(`,"s":"t","name":"`)
	t.name(e, slot)
	t.num(`","args":{"seq":`, int64(e.Seq))
	t.add(`,"slot":"`)
	t.add(slot)
	t.num(`","peer":`, int64(e.Peer))
	t.add("}},\n")
	if lane < 0 {
		return
	}
	switch e.Kind {
	case runtime.EventPut:
		t.arrow(e, 's', lane, e.Rank, e.Peer)
	case runtime.EventArrived:
		t.arrow(e, 'f', lane, e.Peer, e.Rank)
	}
}

// name writes the name of a mark.
func (t *Writer) name(e *runtime.Event, slot string) {
	switch e.Kind {
	case runtime.EventArrived, runtime.EventReceived:
		t.add(slot)
		t.num(" from ", int64(e.Peer))
	case runtime.EventMcast:
		t.add("mcast ")
		t.add(slot)
	case runtime.EventFolded:
		t.add("fold ")
		t.add(slot)
	case runtime.EventAsked:
		t.num("ask ", int64(e.Peer))
	default:
		t.add(string(e.Kind))
		t.add(" ")
		t.add(slot)
		t.num(" @", int64(e.Peer))
	}
}

// arrow writes one end of the arrow from the put of a slot to its arrival. Both ends have the same
// number.
func (t *Writer) arrow(e *runtime.Event, end byte, lane, from, to int) {
	id := uint64(14695981039346656037) // FNV-1a over words
	for _, x := range [...]uint64{uint64(e.Comm), uint64(e.First), uint64(e.Epoch), e.Seq, uint64(e.Slot), uint64(from), uint64(to)} {
		id = (id ^ x) * 1099511628211
		id ^= id >> 32
	}
	t.head(e, end, "put", lane)
	t.num(`,"name":"put","id":`, int64(id>>11)) // 53 bits, which a JSON number holds
	if end == 'f' {
		t.add(`,"bp":"e"`)
	}
	t.add("},\n")
}

// head writes the start of an event: its kind, time and track.
func (t *Writer) head(e *runtime.Event, phase byte, category string, lane int) {
	t.add(`{"ph":"`)
	t.buf = append(t.buf, phase)
	t.add(`","cat":"`)
	t.add(category)
	ns := max(0, int64(t.base+e.At.Sub(t.anchor))) // only another clock returns a time before the start of the host
	t.num(`","ts":`, ns/1000)                      // microseconds
	t.buf = append(t.buf, '.', '0'+byte(ns/100%10), '0'+byte(ns/10%10), '0'+byte(ns%10))
	t.num(`,"pid":`, int64(t.pid))
	t.num(`,"tid":`, int64(track(e.Comm, lane)))
}

// add writes text, num text and a number, and quoted any text as a JSON string.
func (t *Writer) add(text string) { t.buf = append(t.buf, text...) }

func (t *Writer) num(text string, n int64) { t.buf = strconv.AppendInt(append(t.buf, text...), n, 10) }

func (t *Writer) quoted(text string) {
	b, err := json.Marshal(text)
	if err != nil { // never for a string
		b = []byte(`""`)
	}
	t.buf = append(t.buf, b...)
}

func (t *Writer) meta(name string, track int, args string) {
	t.buf = fmt.Appendf(t.buf, `{"ph":"M","name":"%s","pid":%d,"tid":%d,"args":{%s}},`+"\n", name, t.pid, track, args)
}
