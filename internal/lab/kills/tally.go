//go:build linux

package kills

import (
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// tally sums up the runs over one transport.
type tally struct {
	transport               string
	stop                    bool // ranks were stopped, and continued
	quorum                  bool // Config.Quorum wants a majority
	back, told              int
	runs, survivors         int
	same, right, went, hung int
	few, stopped            int // survivors without a majority, and those of them that have not gone on
	after                   []time.Duration
}

// addOutcome adds a run and returns its errors.
func (t *tally) addOutcome(r *outcome) (wrong []string) {
	var named []int
	var answers string
	few := t.quorum && !runtime.Majority(make([]int, len(r.survivors)), len(r.survivors)+len(r.killed))
	for i := range r.survivors {
		s := &r.survivors[i]
		t.survivors++
		if named == nil {
			named, answers = s.Lost, s.Answers
		}
		if s.silent {
			t.hung++
			wrong = append(wrong, fmt.Sprintf("rank %d has not said anything (killed: %v)", s.Rank, r.killed))
			continue
		}
		if slices.Equal(s.Lost, named) && s.Answers == answers {
			t.same++
		} else {
			wrong = append(wrong, fmt.Sprintf("rank %d names %v and answers %s, others %v and %s: %s", s.Rank, s.Lost, s.Answers, named, answers, s.Err))
		}
		if slices.Equal(s.Lost, r.killed) {
			t.right++
		} else {
			wrong = append(wrong, fmt.Sprintf("rank %d names %v, killed were %v: %s", s.Rank, s.Lost, r.killed, s.Err))
		}
		if few {
			t.few++
		}
		switch {
		case few && s.Few:
			t.stopped++
		case !few && s.After == "":
			t.went++
		case few:
			wrong = append(wrong, fmt.Sprintf("rank %d went on without a quorum, or failed otherwise: %s", s.Rank, s.After))
		default:
			wrong = append(wrong, fmt.Sprintf("rank %d could not go on: %s", s.Rank, s.After))
		}
		t.after = append(t.after, time.Unix(0, s.At).Sub(r.at))
	}
	for i := range r.back {
		s := &r.back[i]
		t.back++
		if s.Self && s.After != "" {
			t.told++
		} else {
			wrong = append(wrong, fmt.Sprintf("rank %d, which was stopped, says: %s; and then: %s", s.Rank, s.Err, s.After))
		}
	}
	return wrong
}

// broken reports whether a promise was broken. If ranks are killed one by one, others may name the
// first before the next is killed.
func (t *tally) broken() bool {
	return t.hung > 0 || t.same < t.survivors || t.went < t.survivors-t.few || t.stopped < t.few || t.told < t.back
}

// cells returns a row of the table.
func (t *tally) cells() []any {
	slices.Sort(t.after)
	at := func(share float64) time.Duration {
		if len(t.after) == 0 {
			return 0
		}
		return t.after[int(share*float64(len(t.after)-1))].Round(10 * time.Microsecond)
	}
	cells := []any{t.transport, t.runs, t.survivors, t.same, t.right, t.went, at(0.5), at(0.99), at(1)}
	if t.stop {
		cells = append(cells, fmt.Sprintf("%d of %d", t.told, t.back))
	}
	if t.quorum {
		cells = append(cells, fmt.Sprintf("%d of %d", t.stopped, t.few))
	}
	return cells
}
