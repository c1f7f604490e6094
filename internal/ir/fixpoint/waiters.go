package fixpoint

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// Waiters lists the rules that wait for each slot. All lists share one flat array.
type Waiters struct {
	start []int32 // by slot number; one more entry at the end
	rules []int32
}

// NewWaiters builds the lists. It fails if the rules wait for more than 4·[MaxSlots] slots in all.
func NewWaiters(s *ir.Schedule, l *Layout) (*Waiters, error) {
	w := &Waiters{start: make([]int32, l.Slots()+2)}
	total, err := w.count(s, l)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(w.start); i++ {
		w.start[i] += w.start[i-1]
	}
	w.rules = make([]int32, total)
	w.fill(s, l)
	return w, nil
}

// count puts the length of slot k's list in start[k+2]. After the prefix sums, start[k+1] is the
// index where the list begins, and filling moves it to the list's end.
func (w *Waiters) count(s *ir.Schedule, l *Layout) (int, error) {
	total := 0
	for r := range s.Programs {
		for i := range s.Programs[r].Rules {
			for _, slot := range s.Programs[r].Rules[i].When {
				w.start[l.Slot(r, slot)+2]++
				total++
			}
			if total > 4*MaxSlots {
				return 0, fmt.Errorf("rank %d: rules up to here wait for more than %d slots", r, 4*MaxSlots)
			}
		}
	}
	return total, nil
}

func (w *Waiters) fill(s *ir.Schedule, l *Layout) {
	for r := range s.Programs {
		for i := range s.Programs[r].Rules {
			rule := l.Rule(r, i)
			for _, slot := range s.Programs[r].Rules[i].When {
				at := &w.start[l.Slot(r, slot)+1]
				w.rules[*at] = int32(rule)
				*at++
			}
		}
	}
}

// Of returns the numbers of the rules that wait for the slot with the given number. A rule occurs
// as often as the slot occurs in its When.
func (w *Waiters) Of(slot int) []int32 { return w.rules[w.start[slot]:w.start[slot+1]] }
