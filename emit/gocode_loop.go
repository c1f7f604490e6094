package emit

import "github.com/schedgen/schedgen/ir"

// step is calls that build a rank's list of actions: one call, repeated times
// times with numbers that grow, or, with a body, a loop over other steps.
type step struct {
	fn       callKind
	kind     ir.Kind
	slot, to expr
	after, n int
	times    int
	dslot    int // what each time adds to slot
	dto      int // what each time adds to to

	body   []step
	outers []outer // of a body's steps: what each time of the loop adds
}

// outer is what a loop adds to a step of its body each time.
type outer struct{ dslot, dto int }

// The shortest runs that become loops, and the longest body looked for.
const (
	minRun  = 3
	maxBody = 32
)

// loops makes loops of what repeats.
func loops(calls []step, mod int) []step {
	return nests(runs(calls, mod), mod)
}

// runs makes a step of calls whose numbers grow evenly.
func runs(calls []step, mod int) []step {
	var out []step
	for i := 0; i < len(calls); {
		n := 1
		for i+n < len(calls) && calls[i].follows(calls[i+1], calls[i+n], n, mod) {
			n++
		}
		if n < minRun {
			out = append(out, calls[i])
			i++
			continue
		}
		st := calls[i]
		st.times = n
		st.dslot, st.dto = calls[i].distance(calls[i+1], mod)
		out = append(out, st)
		i += n
	}
	return out
}

// follows reports whether other is st after n steps of the length from st to
// next.
func (st step) follows(next, other step, n, mod int) bool {
	dslot, dto := st.distance(next, mod)
	return st.moved(dslot*n, dto*n, mod).same(other)
}

// distance returns what to add to the numbers of st to get to next; less than
// half way round for ranks.
func (st step) distance(next step, mod int) (dslot, dto int) {
	dslot, dto = next.slot.base-st.slot.base, next.to.base-st.to.base
	if st.to.form == modular {
		if dto = residue(dto, mod); dto > mod/2 {
			dto -= mod
		}
	}
	return dslot, dto
}

func (st step) moved(dslot, dto, mod int) step {
	st.slot.base += dslot
	if st.to.base += dto; st.to.form == modular {
		st.to.base = residue(st.to.base, mod)
	}
	return st
}

func (st step) same(other step) bool {
	return st.fn == other.fn && st.kind == other.kind && st.slot == other.slot && st.to == other.to &&
		st.after == other.after && st.n == other.n && st.times == other.times && st.dslot == other.dslot && st.dto == other.dto
}

// nests makes a loop of steps that come again and again in the same order.
func nests(steps []step, mod int) []step {
	var out []step
	for i := 0; i < len(steps); {
		body, times := repeated(steps[i:], mod)
		if times < minRun {
			out = append(out, steps[i])
			i++
			continue
		}
		loop := step{times: times, body: steps[i : i+body]}
		for k := range body {
			dslot, dto := steps[i+k].distance(steps[i+body+k], mod)
			loop.outers = append(loop.outers, outer{dslot, dto})
		}
		out = append(out, loop)
		i += body * times
	}
	return out
}

// repeated returns the body with which steps begin that covers the most of
// them by being repeated, and how often it is.
func repeated(steps []step, mod int) (body, times int) {
	body, times = 1, 1
	for b := 1; b <= min(maxBody, len(steps)/minRun); b++ {
		n := 1
		for (n+1)*b <= len(steps) && repeats(steps, b, n, mod) {
			n++
		}
		if n >= minRun && n*b > body*times {
			body, times = b, n
		}
	}
	return body, times
}

func repeats(steps []step, b, n, mod int) bool {
	for k := range b {
		if !steps[k].follows(steps[b+k], steps[n*b+k], n, mod) {
			return false
		}
	}
	return true
}
