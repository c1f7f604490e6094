package explore

import (
	"context"
	"fmt"
	"slices"
)

// Report is what an exploration has found.
type Report struct {
	States      int        // distinct states met
	Transitions int        // events tried
	Depth       int        // events on the longest shortest way to a state
	Local       int        // distinct states of single ranks
	Complete    bool       // all states have been met: the bound has not been reached
	Violation   *Violation // nil: there is none among the states met

	// Searches counts how often the search was made. A search leaves out moments at which messages
	// arrive that change nothing, shows that they change nothing at any later moment either, and
	// is made again with those for which that does not hold. See Options.Full.
	Searches int
}

// Violation is something that must not be, and how it comes about.
type Violation struct {
	Problem string
	Story   []string // the events, one a line: there is no shorter way
	Forever []string // calls do not end: what happens from there on, until it repeats
}

// search meets states breadth first, so that the first violation is one of the
// nearest.
type search struct {
	*system
	report  Report
	seen    *set // states
	good    *set // states, spent budgets aside, whose fair continuation ends all calls
	parents []uint32
	events  []event
	level   []byte // states to be expanded, one after the other
	next    []byte
	at      uint32 // the number of the state that is being expanded: they are in the order in which they were met
	base    *world
	try     *world
	bytes   []byte
	options []event
	risks   []event
	fair    continuation
	ahead   func() // notes the first violation that a fair continuation has come to
}

// Run explores. The error is of the options, or of ctx; what is wrong with a
// system is in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	sys, err := newSystem(o)
	if err != nil {
		return Report{}, err
	}
	_, r, err := sys.explore(ctx)
	return r, err
}

// explore searches, and again as long as what the search has left out could have made a
// difference.
func (s *system) explore(ctx context.Context) (*search, Report, error) {
	for searches := 1; ; searches++ {
		x := newSearch(s)
		r, err := x.run(ctx)
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

// stretch is how many states are expanded between two looks at ctx.
const stretch = 1 << 12

func (x *search) run(ctx context.Context) (Report, error) {
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

// over reports whether the search ends, though there are states to be expanded.
func (x *search) over() bool { return x.report.Violation != nil || x.seen.n >= x.States }

// expandLevel expands the states that were met last: all of one distance.
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

// meet notes a state, which e has led to, unless it is known.
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

// expand has everything happen that can in x.base, each by itself.
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

// violated notes a violation: the events to state at and then more. If forever is
// set, those are not how it comes about but how nothing comes of it.
func (x *search) violated(problem string, at uint32, more []event, forever bool) {
	var events []event
	for ; at > 0; at = x.parents[at] {
		events = append(events, x.events[at])
	}
	slices.Reverse(events)
	v := &Violation{Problem: problem, Story: x.tell(append(events, more...))}
	if forever {
		v.Story, v.Forever = v.Story[:len(events)], v.Story[len(events):]
	}
	x.report.Violation = v
}
