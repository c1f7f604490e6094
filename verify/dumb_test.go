package verify

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// The dumb checker runs a tiny schedule in every order of entries, arrivals and timeouts, for every
// subset of lost multicasts, and examines every state. It shares nothing with the clever checker
// and uses no theory: no fixpoint, no sets, no monotony.

// maxDumbBits bounds the states: one bit for each place and each repair.
const maxDumbBits = 18

// dumb is a schedule as bit masks. A state is the bits of the places that are set and of the
// repairs that have been made.
type dumb struct {
	s       *ir.Schedule
	bit     map[Place]int
	rules   []dumbRule
	casts   []dumbSend // every single delivery of a multicast
	enter   []uint64   // by rank: the bits that its entry sets
	done    []uint64   // by rank: enter and its Done slots
	chunks  []uint64   // by rank: the chunks that it has at the end
	request map[Place]bool

	left  map[[2]int]bool // seen: a rank returned while another had not entered
	unset uint64          // seen: these were not set when the root returned

	overlapped bool // seen: a result was there before the contribution in its place was read
}

type dumbRule struct {
	*ir.Rule
	rank   int
	when   uint64
	unless uint64
	made   uint64     // the bit of a repair
	puts   []dumbSend // certain deliveries
	folds  uint64     // what is made at this rank
	casts  []int      // indices of deliveries that may be lost
}

type dumbSend struct{ bit uint64 }

// dumbVerdict holds the properties that were seen not to hold.
type dumbVerdict map[string]bool

func newDumb(s *ir.Schedule) *dumb {
	d := &dumb{s: s, bit: map[Place]int{}, request: map[Place]bool{}, left: map[[2]int]bool{}}
	for r, p := range s.Programs {
		d.bit[place(r, ir.Enter)] = len(d.bit)
		for k := range s.Chunks {
			d.bit[place(r, ir.Chunk(k))] = len(d.bit)
		}
		for j := range p.Signals {
			d.bit[place(r, ir.Signal(j))] = len(d.bit)
		}
		for i := range p.Values {
			d.bit[place(r, ir.Value(i))] = len(d.bit)
		}
	}
	for r, p := range s.Programs {
		chunks, enter := uint64(0), d.mask(r, ir.Enter)
		d.done = append(d.done, enter|d.mask(r, p.Done...))
		for k := range s.Chunks {
			if wanted := s.Wanted(r); wanted.Has(k) {
				chunks |= d.mask(r, ir.Chunk(k))
			}
			if s.Holds(r, k) {
				enter |= d.mask(r, ir.Chunk(k))
			}
		}
		d.chunks = append(d.chunks, chunks)
		d.enter = append(d.enter, enter)
		for i := range p.Rules {
			d.rules = append(d.rules, d.rule(r, &p.Rules[i]))
		}
	}
	d.findRequests()
	return d
}

func (d *dumb) mask(rank int, slots ...ir.Slot) uint64 {
	m := uint64(0)
	for _, s := range slots {
		m |= 1 << d.bit[place(rank, s)]
	}
	return m
}

func (d *dumb) rule(rank int, r *ir.Rule) dumbRule {
	dr := dumbRule{Rule: r, rank: rank, when: d.mask(rank, r.When...)}
	if d.s.HasMessage() { // in a collective with buffers, ranks act only after they have entered
		dr.when |= d.mask(rank, ir.Enter)
	}
	if r.IsRepair() {
		dr.unless = d.mask(rank, r.Unless)
		dr.made = 1 << (len(d.bit) + d.repairs())
	}
	for _, a := range r.Do {
		switch a.Op {
		case ir.Put:
			dr.puts = append(dr.puts, dumbSend{d.mask(int(a.To), a.Sets())})
			continue
		case ir.Fold:
			dr.folds |= d.mask(rank, a.As)
			continue
		}
		for to := range d.s.Programs {
			if to != rank {
				dr.casts = append(dr.casts, len(d.casts))
				d.casts = append(d.casts, dumbSend{d.mask(to, a.Slot)})
			}
		}
	}
	return dr
}

func (d *dumb) repairs() int {
	n := 0
	for _, r := range d.rules {
		if r.IsRepair() {
			n++
		}
	}
	return n
}

// findRequests examines one signal after the other.
func (d *dumb) findRequests() {
	for p := range d.bit {
		if p.Slot.Kind() != ir.KindSignal || slices.Contains(d.s.Programs[p.Rank].Done, p.Slot) {
			continue
		}
		answered, more := false, false
		for _, r := range d.awaiting(p) {
			answered = true
			for _, a := range r.Do {
				more = more || a.Op != ir.Put || a.Sets().Kind() != ir.KindChunk
			}
		}
		if answered && !more {
			d.request[p] = true
		}
	}
}

// awaiting returns the rules that wait for p.
func (d *dumb) awaiting(p Place) []dumbRule {
	var rules []dumbRule
	for _, r := range d.rules {
		if r.rank == p.Rank && slices.Contains(r.When, p.Slot) {
			rules = append(rules, r)
		}
	}
	return rules
}

// fits reports whether the schedule is tiny enough.
func (d *dumb) fits() bool {
	most := maxDumbBits
	if len(d.casts) == 0 {
		most += 2
	}
	return len(d.bit)+d.repairs() <= most && len(d.casts) <= 6
}

// returned reports whether a rank has returned: its Done slots are set, and it has nothing to fold.
func (d *dumb) returned(rank int, state uint64) bool {
	if state&d.done[rank] != d.done[rank] {
		return false
	}
	for _, r := range d.rules {
		if r.rank == rank && state&r.when == r.when && state&r.folds != r.folds {
			return false
		}
	}
	return true
}

// explore visits every state under every subset of lost deliveries.
func (d *dumb) explore() dumbVerdict {
	bad := dumbVerdict{}
	d.static(bad)
	fired := make([]bool, len(d.rules)) // in some state the rule's When is set
	open := make([]bool, len(d.rules))  // in some such state its Unless is not set
	for lost := range 1 << len(d.casts) {
		seen := make([]uint64, 1+(1<<(len(d.bit)+d.repairs()))/64)
		todo := []uint64{0}
		for len(todo) > 0 {
			state := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[state/64]>>(state%64)&1 == 1 {
				continue
			}
			seen[state/64] |= 1 << (state % 64)
			d.look(state, bad, fired, open)
			next := d.next(state, lost)
			if len(next) == 0 {
				d.lookAtEnd(state, bad)
			}
			todo = append(todo, next...)
		}
	}
	for i, r := range d.rules {
		if r.IsRepair() && !open[i] { // it can never be made
			bad["wellformed"] = true
			bad.note("repairs", fired[i])
		}
	}
	return bad
}

// next returns the states to which one event leads: a rank enters, something arrives, or a repair
// is made.
func (d *dumb) next(state uint64, lost int) []uint64 {
	var next []uint64
	for _, e := range d.enter {
		if state&e != e {
			next = append(next, state|e)
		}
	}
	for _, r := range d.rules {
		if state&r.when != r.when {
			continue
		}
		for left := r.folds &^ state; left != 0; left &= left - 1 { // each fold is an event of its own
			next = append(next, state|left&-left)
		}
		if r.IsRepair() && state&r.made == 0 {
			if state&r.unless == 0 {
				next = append(next, state|r.made)
			}
			continue
		}
		for _, p := range r.puts {
			if state&p.bit == 0 {
				next = append(next, state|p.bit)
			}
		}
		for _, c := range r.casts {
			if lost>>c&1 == 0 && state&d.casts[c].bit == 0 {
				next = append(next, state|d.casts[c].bit)
			}
		}
	}
	return next
}

// look records violations of what must never be the case.
func (d *dumb) look(state uint64, bad dumbVerdict, fired, open []bool) {
	everywhere, entered := uint64(0), uint64(0)
	d.overlapped = d.overlapped || d.overlaps(state)
	for r := range d.s.Programs {
		everywhere |= d.chunks[r]
		entered |= d.mask(r, ir.Enter)
	}
	for r := range d.done {
		if !d.returned(r, state) {
			continue
		}
		if state&entered != entered {
			bad["barrier"] = true
			d.noteLeft(r, state)
		}
		if r == d.s.Root {
			d.unset |= ^state
		}
		bad.note("coverage", state&d.chunks[r] != d.chunks[r])
		bad.note("acked", r == d.s.Root && state&everywhere != everywhere)
	}
	for i, r := range d.rules {
		if state&r.when != r.when {
			bad.note("retire", !r.IsRepair() && !d.awaitsRequest(&r) && d.returned(r.rank, state))
			continue
		}
		fired[i] = true
		open[i] = open[i] || state&r.unless == 0
		bad.note("wellformed", !d.holds(&r, state))
	}
	for _, r := range d.rules {
		if r.IsRepair() && state&r.unless != 0 && d.stillNeeded(&r, state) {
			bad["wellformed"], bad["repairs"] = true, true
		}
	}
}

func (d *dumb) noteLeft(leaver int, state uint64) {
	for late := range d.s.Programs {
		if state&d.mask(late, ir.Enter) == 0 {
			d.left[[2]int{leaver, late}] = true
		}
	}
}

func (v dumbVerdict) note(check string, bad bool) { v[check] = v[check] || bad }

// lookAtEnd records violations of what must be the case when nothing can happen any more.
func (d *dumb) lookAtEnd(state uint64, bad dumbVerdict) {
	for r := range d.s.Programs {
		bad.note("coverage", state&d.chunks[r] != d.chunks[r])
		bad.note("deadlock", state&d.done[r] != d.done[r])
	}
}

func (d *dumb) awaitsRequest(r *dumbRule) bool {
	return slices.ContainsFunc(r.When, func(s ir.Slot) bool { return d.request[place(r.rank, s)] })
}

// holds reports whether the rank has every chunk and partial result that the rule puts or folds,
// and the question if the rule uses its answer.
func (d *dumb) holds(r *dumbRule, state uint64) bool {
	for _, a := range r.Do {
		kind := a.Slot.Kind()
		for k := 0; kind == ir.KindInput && k < d.s.QuestionChunks(); k++ {
			if state&d.mask(r.rank, ir.Chunk(k)) == 0 {
				return false
			}
		}
		if d.s.HasMessage() && (kind == ir.KindChunk || kind == ir.KindValue) && state&d.mask(r.rank, a.Slot) == 0 {
			return false
		}
	}
	return true
}

// stillNeeded reports whether something is missing that the repair would bring: what it puts, or
// what the answers to its request put.
func (d *dumb) stillNeeded(r *dumbRule, state uint64) bool {
	for _, a := range r.Do {
		for to := range d.s.Programs {
			hit := a.Op == ir.Put && int(a.To) == to || a.Op == ir.Mcast && to != r.rank
			if !hit {
				continue
			}
			need := d.mask(to, a.Slot)
			if d.request[place(to, a.Slot)] {
				need = d.answers(place(to, a.Slot))
			}
			if state&need != need {
				return true
			}
		}
	}
	return false
}

// answers returns everything that rules which wait for a request put.
func (d *dumb) answers(request Place) uint64 {
	all := uint64(0)
	for _, r := range d.awaiting(request) {
		for _, a := range r.Do {
			all |= d.mask(int(a.To), a.Slot)
		}
	}
	return all
}

// static checks once what can be counted without running anything.
func (d *dumb) static(bad dumbVerdict) {
	puts, plainPuts := map[Place]int{}, map[Place]int{}
	awaited, read := map[Place]bool{}, map[Place]bool{}
	var chunkPuts []Place
	for r, p := range d.s.Programs {
		for _, s := range p.Done {
			awaited[place(r, s)] = true
		}
		for k := range d.s.Chunks {
			if wanted := d.s.Wanted(r); wanted.Has(k) || d.s.Holds(r, k) {
				awaited[place(r, ir.Chunk(k))] = true
			}
		}
		for _, rule := range p.Rules {
			for _, s := range append(slices.Clone(rule.When), rule.Unless) {
				awaited[place(r, s)] = true
			}
			bad.note("retire", rule.IsRepair() && !slices.Contains(p.Done, rule.Unless))
			for j, a := range rule.Do {
				to := place(int(a.To), a.Sets())
				enter := slices.Contains(rule.When, ir.Enter)
				bad.note("wellformed", a.Slot.Kind() == ir.KindInput && !enter)
				bad.note("wellformed", a.Slot.Kind() == ir.KindChunk && d.s.Folds() && d.s.Holds(r, a.Slot.Index()) && !enter)
				if a.Op != ir.Mcast && a.Slot.Kind() != ir.KindSignal {
					awaited[place(r, a.Slot)], read[place(r, a.Slot)] = true, true
				}
				if a.Op == ir.Fold {
					to.Rank = r
					awaited[to] = true
					bad.note("wellformed", slices.Contains(rule.When, a.As))
					if j+1 < len(rule.Do) && rule.Do[j+1].Joins {
						continue
					}
				} else if a.Op == ir.Put && to.Slot.Kind() == ir.KindChunk {
					chunkPuts = append(chunkPuts, to)
				}
				if puts[to]++; !rule.IsRepair() {
					plainPuts[to]++
				}
				bad.note("wellformed", a.Op == ir.Put && to.Rank == r)
			}
		}
	}
	for _, p := range chunkPuts {
		bad.note("wellformed", !awaited[p])
	}
	for p := range d.bit {
		if p.Slot.Kind() == ir.KindValue {
			bad.note("wellformed", puts[p] != 1 || !read[p])
		}
		if p.Slot.Kind() == ir.KindSignal {
			bad.note("wellformed", puts[p] != 1 || !awaited[p])
			byPlain := slices.ContainsFunc(d.awaiting(p), func(r dumbRule) bool { return !r.IsRepair() })
			bad.note("wellformed", byPlain && d.request[p] != (plainPuts[p] == 0))
		}
	}
	d.countCopies(bad)
	if foldsAnything(d.s) {
		bad["typed"] = !dumbTyped(d.s)
		bad["contributes"] = !newDumbTerms(d).contributes()
	}
	d.countRepairs(bad)
	bad["recovery"] = d.s.Recovers && dumbRecovery(d.s)
}

// repeated reports whether a list contains an action more than once.
func repeated(do []ir.Action, a ir.Action) bool {
	n := 0
	for _, b := range do {
		if a == b {
			n++
		}
	}
	return n > 1
}

// countRepairs counts what each repair puts, and what each request makes other ranks put.
func (d *dumb) countRepairs(bad dumbVerdict) {
	asked := map[Place][]ir.Action{}
	for _, r := range d.rules {
		for _, a := range r.Do {
			if a.Op != ir.Put || a.Sets().Kind() != ir.KindChunk {
				continue
			}
			bad.note("once", r.IsRepair() && repeated(r.Do, a))
			for _, w := range r.When {
				if p := place(r.rank, w); d.request[p] && !r.IsRepair() {
					asked[p] = append(asked[p], a)
				}
			}
		}
	}
	for _, puts := range asked {
		for _, a := range puts {
			bad.note("once", repeated(puts, a))
		}
	}
}

// countCopies lets everything arrive, without repairs, and counts.
func (d *dumb) countCopies(bad dumbVerdict) {
	state, before := uint64(0), ^uint64(0)
	for _, e := range d.enter {
		state |= e
	}
	copies := map[uint64]int{}
	for state != before {
		before = state
		clear(copies)
		for _, r := range d.rules {
			if r.IsRepair() || state&r.when != r.when {
				continue
			}
			for _, c := range r.casts {
				state |= d.casts[c].bit
			}
			for _, p := range r.puts {
				state |= p.bit
				copies[p.bit]++
			}
			state |= r.folds
			for j, a := range r.Do {
				if a.Op == ir.Fold && (j+1 == len(r.Do) || !r.Do[j+1].Joins) {
					copies[d.mask(r.rank, a.As)]++
				}
			}
		}
	}
	multicasts := slices.ContainsFunc(d.rules, func(r dumbRule) bool {
		// multicasts of a single rank go nowhere
		return slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast })
	})
	for r := range d.s.Programs {
		for k := range d.s.Chunks {
			n := copies[d.mask(r, ir.Chunk(k))]
			holds, wanted := d.s.Holds(r, k), d.s.Wanted(r)
			bad.note("once", n > 1 || holds && n > 0 || !holds && wanted.Has(k) && n == 0 && !multicasts)
		}
	}
}
