package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// moment is a place in one of several operations that run back to back.
type moment struct {
	Place
	op int
}

// backToBack returns what can be set in ops operations if the moment never comes. A rank enters the
// next operation when it has returned from the previous one.
func backToBack(s *ir.Schedule, ops int, never moment) (set map[moment]bool, fired func(rank int, r *ir.Rule, op int) bool) {
	set = map[moment]bool{}
	all := func(rank int, slots []ir.Slot, op int) bool {
		for _, slot := range slots {
			if !set[moment{place(rank, slot), op}] {
				return false
			}
		}
		return true
	}
	fired = func(rank int, r *ir.Rule, op int) bool {
		entered := !s.HasMessage() || set[moment{place(rank, ir.Enter), op}]
		return entered && all(rank, r.When, op)
	}
	for before := -1; len(set) > before; {
		before = len(set)
		add := func(m moment) {
			if m != never {
				set[m] = true
			}
		}
		for op := range ops {
			for rank, p := range s.Programs {
				enter := moment{place(rank, ir.Enter), op}
				if op == 0 || set[moment{enter.Place, op - 1}] && all(rank, p.Done, op-1) {
					add(enter)
				}
				for k := range s.Chunks {
					if set[enter] && s.Holds(rank, k) {
						add(moment{place(rank, ir.Chunk(k)), op})
					}
				}
				for i := range p.Rules {
					if !fired(rank, &p.Rules[i], op) {
						continue
					}
					for _, send := range sends(s, rank, &p.Rules[i], true) {
						add(moment{send, op})
					}
				}
			}
		}
	}
	return set, fired
}

// sends returns every place that a rule sets. It includes multicasts only if mcasts is true.
func sends(s *ir.Schedule, rank int, r *ir.Rule, mcasts bool) []Place {
	var places []Place
	for _, a := range r.Do {
		for to := range s.Programs {
			if a.Op == ir.Put && int(a.To) == to || a.Op == ir.Mcast && to != rank && mcasts || a.Op == ir.Fold && to == rank {
				places = append(places, place(to, a.Sets()))
			}
		}
	}
	return places
}

// dumbLead returns three maxima: how many operations a plain rule can be ahead of a rank whose
// chunk, or signal, it sets, and how many operations a rank can enter ahead of another. A bounded
// lead of a rule is below the number of ranks, and a bounded lead of a rank is at most that number.
func dumbLead(s *ir.Schedule) (chunks, signals, enters int) {
	last := s.Ranks
	request := newDumb(s).request
	for b := range s.Programs {
		for j := last + 1; j >= 0; j-- {
			set, fired := backToBack(s, last+1, moment{place(b, ir.Enter), j})
			for a, p := range s.Programs {
				if a != b && set[moment{place(a, ir.Enter), last}] {
					enters = max(enters, last-(j-1))
				}
				for i := range p.Rules {
					r := &p.Rules[i]
					if r.IsRepair() || awaits(a, r, request) || !fired(a, r, last) {
						continue
					}
					for _, to := range sends(s, a, r, true) {
						switch {
						case to.Rank != b || b == a:
						case to.Slot.Kind() == ir.KindSignal:
							signals = max(signals, last-(j-1))
						default:
							chunks = max(chunks, last-(j-1))
						}
					}
				}
			}
		}
	}
	return chunks, signals, enters
}

func awaits(rank int, r *ir.Rule, request map[Place]bool) bool {
	for _, w := range r.When {
		if request[place(rank, w)] {
			return true
		}
	}
	return false
}

// compareReuse compares the run-ahead according to both checkers.
func compareReuse(t *testing.T, s *ir.Schedule, label string) (bound int, refuted bool) {
	sub, err := newSubject(s)
	require.NoError(t, err)
	if _, err := proveWellformed(sub); err != nil {
		return 0, false
	}
	if _, err := proveDeadlock(sub); err != nil {
		return 0, false
	}
	chunks, signals, enters := dumbLead(s)
	ahead, err := sub.runAhead()
	label = fmt.Sprintf("%s: chunks %d, signals %d, ranks %d ahead; clever: %+v %v\n%s", label, chunks, signals, enters, ahead, err, text(t, s))
	if signals >= s.Ranks {
		requireCounterexample(t, err, label)
		return 0, true
	}
	require.NoError(t, err, label)
	require.Equal(t, enters > s.Ranks, ahead.apart != nil, label)
	if ahead.apart == nil {
		require.Equal(t, enters, ahead.enters, label)
	}
	require.Equal(t, chunks >= s.Ranks, ahead.flow != nil, label)
	if ahead.flow != nil {
		return 0, false
	}
	require.Equal(t, max(chunks, signals), ahead.writes, label)
	return ahead.writes, false
}

func TestRunAheadAgreesWithUnrolling(t *testing.T) {
	good := tiny(t)
	for _, s := range good {
		_, refuted := compareReuse(t, s, s.Name())
		require.False(t, refuted)
	}
	refuted, bounds := 0, map[int]int{}
	for seed := range heavy.Seeds(heavy.Or(4000, 10000)) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		s, changes := mutate(withReplies(good[rnd.IntN(len(good))], rnd), rnd)
		if ir.Validate(s) != nil || s.Ranks > 4 {
			continue
		}
		bound, no := compareReuse(t, s, fmt.Sprintf("seed %d: %s", seed, strings.Join(changes, ", ")))
		if no {
			refuted++
		} else {
			bounds[bound]++
		}
	}
	t.Logf("%d refuted; others by bound: %v", refuted, bounds)
	require.Greater(t, refuted, 100)
	for b := range 3 {
		require.NotZero(t, bounds[b], "run-ahead of %d", b)
	}
}

// withReplies returns s with some additional signals, each from a rank that has entered to one that
// awaits the signal before it returns. This gives ranks knowledge of every kind.
func withReplies(s *ir.Schedule, rnd *rand.Rand) *ir.Schedule {
	s = clone(s)
	for range rnd.IntN(4) {
		a, b := rnd.IntN(s.Ranks), rnd.IntN(s.Ranks)
		if a == b {
			continue
		}
		to, from := &s.Programs[b], &s.Programs[a]
		from.Rules = append(from.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Signal(to.Signals), b)}})
		to.Done = append(to.Done, ir.Signal(to.Signals))
		to.Signals++
	}
	return s
}
