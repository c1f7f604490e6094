package explore

import (
	"context"
	"fmt"
	"slices"
)

// Report is the result of an exploration.
type Report struct {
	States      int        // distinct states met
	Transitions int        // events tried
	Depth       int        // greatest distance of a state from the first one, in events
	Local       int        // distinct states of single ranks
	Complete    bool       // all states were met: no bound was reached
	Violation   *Violation // nil if none of the states met has one

	// Searches is the number of searches made. A search leaves out the moments at which messages
	// arrive that change nothing, and then tests whether they change nothing at any later moment
	// either. If one does change something, the search is repeated without leaving it out. See
	// Options.Full.
	Searches int
}

// Violation is a violated property, with the events that lead to it.
type Violation struct {
	Problem string
	Story   []string // the events, one a line; no shorter sequence leads to the violation
	Forever []string // if calls do not end: the events that follow, until they repeat
}

// search meets states breadth first, so that the first violation it finds is one of the nearest.
type search struct {
	*system
	report  Report
	seen    *set // the states met
	good    *set // states, without their budgets, whose fair continuation ends all calls
	parents []uint32
	events  []event
	level   []byte // encoded states to be expanded, one after the other
	next    []byte
	at      uint32 // number of the state that is being expanded; states are numbered in the order in which they were met
	base    *world
	try     *world
	bytes   []byte
	options []event
	risks   []event
	fair    continuation
	ahead   func() // records the first violation that a fair continuation has met
}

// Run explores. Its error is about the options or comes from ctx; a violation is in the report and
// not an error.
func Run(ctx context.Context, o Options) (Report, error) {
	sys, err := newSystem(o)
	if err != nil {
		return Report{}, err
	}
	_, r, err := sys.explore(ctx)
	return r, err
}

// explore searches, and repeats the search as long as something that was left out could have made a
// difference.
func (s *system) explore(ctx context.Context) (*search, Report, error) {
	for searches := 1; ; searches++ {
		x := newSearch(s)
		r, err := x.explore(ctx)
		r.Searches = searches
		if err != nil || s.Full {
			return x, r, err
		}
		mattered := s.mattered()
		if len(mattered) == 0 {
			return x, r, nil
		}
		if s, err = s.again(mattered, searches); err != nil {
			return x, r, err
		}
	}
}

func newSearch(sys *system) *search {
	x := &search{system: sys, seen: newSet(), good: newSet()}
	x.fair.search = x
	return x
}

// stretch is the number of states that are expanded between two checks of ctx.
const stretch = 1 << 12

func (x *search) explore(ctx context.Context) (Report, error) {
	x.base, x.try = x.initial(), x.initial()
	x.meet(x.base, 0, 0)
	for depth := 0; len(x.next) > 0 && !x.over(); depth++ {
		x.report.Depth = depth
		if err := x.expandLevel(ctx); err != nil {
			return x.result(), fmt.Errorf("explore: %w", err)
		}
	}
	if x.report.Violation == nil {
		x.report.Complete = int(x.at) == len(x.parents)
		if !x.report.Complete && x.ahead != nil {
			x.ahead()
		}
	}
	return x.result(), nil
}

// over reports whether the search ends although there are states to be expanded.
func (x *search) over() bool { return x.report.Violation != nil || x.seen.n >= x.States }

// expandLevel expands the states of the last level, which all have one distance.
func (x *search) expandLevel(ctx context.Context) error {
	x.level, x.next = x.next, x.level[:0]
	for rest := x.level; len(rest) > 0 && !x.over(); x.at++ {
		if x.at%stretch == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if x.Progress != nil {
				x.Progress(x.result())
			}
		}
		rest = x.base.read(rest)
		x.expand()
	}
	return nil
}

func (x *search) result() Report {
	r := x.report
	r.States, r.Local = x.seen.n, len(x.locals)
	return r
}

// meet records the state that e has led to, unless it is known.
func (x *search) meet(w *world, parent uint32, e event) {
	x.bytes = w.append(x.bytes[:0])
	if !x.seen.add(x.seen.hash(x.bytes)) {
		return
	}
	x.next = append(x.next, x.bytes...)
	x.parents = append(x.parents, parent)
	x.events = append(x.events, e)
	x.fair.check(w, uint32(len(x.parents)-1))
}

// expand tries every event that can happen in x.base, each by itself.
func (x *search) expand() {
	x.options, x.risks = x.system.options(x.base, x.options[:0], x.risks[:0])
	for _, e := range x.options {
		x.follow(e)
	}
	for _, e := range x.risks {
		x.follow(e)
	}
}

func (x *search) follow(e event) {
	if x.report.Violation != nil {
		return
	}
	x.try.copyFrom(x.base)
	problem, done := x.apply(x.try, e)
	if !done {
		return
	}
	x.report.Transitions++
	if problem != "" {
		x.violated(problem, x.at, []event{e}, false)
		return
	}
	if e.kind() == evRing && len(x.options) > 0 {
		x.try.early++
	}
	x.meet(x.try, x.at, e)
}

// violated records a violation: the events that lead to state at, and then more. If forever is set,
// more is the repetition that follows instead of the last events before the violation.
func (x *search) violated(problem string, at uint32, more []event, forever bool) {
	var events []event
	for ; at > 0; at = x.parents[at] {
		events = append(events, x.events[at])
	}
	slices.Reverse(events)
	v := &Violation{Problem: problem, Story: x.story(append(events, more...))}
	if forever {
		v.Story, v.Forever = v.Story[:len(events)], v.Story[len(events):]
	}
	x.report.Violation = v
}
