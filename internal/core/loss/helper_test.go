package loss

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

const base = moment.Time(20e6)

// facts is what a rank knows of an operation in a test.
type facts struct {
	has    map[int]bool   // chunks that have arrived
	ended  bool           // no chunk may come any more
	called map[int32]bool // repairs that are not wanted any more
	unsent bool
}

func (f *facts) Lacks(k int) bool        { return !f.ended && !f.has[k] }
func (f *facts) Pending(rule int32) bool { return !f.called[rule] }
func (f *facts) Unsent() bool            { return f.unsent }

// due returns when the first timer of a kind runs out.
func due(r *Recovery, l *Losses, kind Timer) moment.Time {
	first := moment.Never
	r.Timers(l, func(k Timer, _ int, began *moment.Time, span moment.Time) {
		if k == kind {
			first = min(first, *began+span)
		}
	})
	return first
}

// request is a request that a test has taken.
type request struct {
	do    Action
	to    int
	late  bool
	units []int
}

// taken takes the outputs of r: requests, which leave at once, and others.
func taken(r *Recovery) (requests []request, others []Output) {
	for _, o := range r.Outputs() {
		if o.Request == nil {
			others = append(others, o)
			continue
		}
		q := request{do: o.Do, to: o.To, late: o.Request.Late}
		for b := o.Request.Runs(); len(b) > 0; b = b[8:] {
			for i := range binary.BigEndian.Uint32(b[4:]) {
				q.units = append(q.units, int(binary.BigEndian.Uint32(b)+i))
			}
		}
		o.Request.Unsent--
		requests = append(requests, q)
	}
	return requests, others
}

// runsOf returns the body of a request for units, which are ascending.
func runsOf(units ...int) (body []byte) {
	r := runs{most: len(units)}
	for _, i := range units {
		body = r.add(body, i)
	}
	return body
}

// bcast is an operation of chunks of 100 kB from rank 0, which this rank asks after rank 1.
func bcast(chunks int) Message {
	return Message{Chunks: chunks, Bytes: chunks * 100e3, Ask: []int32{1, 0}, Asked: true}
}

// opened returns a rank that has begun an operation, with datagrams of 1000 bytes.
func opened(m Message) (*Recovery, *Losses, *facts) {
	r := New(Config{Repair: base, Direct: true, Datagram: 1000})
	r.Begin(1)
	l := &Losses{}
	l.Open(m)
	l.Parts.Layout(1000, m.Chunks, func(int) int { return m.Bytes / m.Chunks })
	return &r, l, &facts{has: map[int]bool{}, called: map[int32]bool{}}
}
