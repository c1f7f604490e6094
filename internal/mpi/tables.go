package mpi

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/engine"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// The format of tables; see tables.h.
const (
	magic     = 0x73636867
	version   = 1
	headWords = 5
	nameWords = 8

	// MaxRanks is the greatest number of ranks for which Tables makes tables.
	MaxRanks = 4096
)

// The flags of an entry.
const (
	flagOrdered = 1 << iota // it folds in the order of the ranks
	flagLeft                // the MPI performs the operation; there are no plans
)

// Tables returns the tables of the library for a number of ranks, from 2 to MaxRanks: the words of
// tables.h in the byte order of this machine. They follow the rules as [ChoicesFor] says.
func Tables(ranks int, rules *selection.Rules) ([]byte, []Note, error) {
	if ranks < 2 || ranks > MaxRanks {
		return nil, nil, fmt.Errorf("tables for %d ranks: must be 2 to %d", ranks, MaxRanks)
	}
	t := &tables{plans: make(map[string][]int32)}
	var entries []int32
	taken, notes := ChoicesFor(ranks, rules)
	slices.SortStableFunc(taken, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Least, b.Least))
	})
	head := headWords + len(taken)*(4+nameWords)
	for _, c := range taken {
		entry, err := t.entry(c, ranks, head)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, entry...)
	}
	words := append([]int32{magic, version, int32(ranks), int32(len(taken)), int32(head + len(t.words))}, entries...)
	words = append(words, t.words...)
	out := make([]byte, 0, 4*len(words))
	for _, w := range words {
		out = binary.NativeEndian.AppendUint32(out, uint32(w))
	}
	return out, notes, nil
}

// tables collects plans. Choices that name the same schedule share its plans.
type tables struct {
	words []int32            // plans and their places
	plans map[string][]int32 // by schedule: its entry without the operation and Least
}

// entry returns the words of a choice. Its plans follow head words.
func (t *tables) entry(c Choice, ranks, head int) ([]int32, error) {
	p := c.Params
	p.Ranks = ranks
	key := fmt.Sprint(c.Algorithm, p)
	rest, ok := t.plans[key]
	if c.Algorithm == selection.MPI {
		return append([]int32{int32(c.Operation), int32(c.Least), flagOrdered | flagLeft, 0}, nameOf(c.Algorithm)...), nil
	}
	if !ok {
		spec, err := schedule.New(c.Algorithm, p)
		if err != nil {
			return nil, err
		}
		s := spec.Schedule()
		plans, err := engine.Lower(s)
		if err != nil {
			return nil, fmt.Errorf("%s for %d ranks: %w", c.Algorithm, ranks, err)
		}
		flags := int32(0)
		if spec.RankOrder() {
			flags |= flagOrdered
		}
		rest = append([]int32{flags, int32(head + len(t.words))}, nameOf(c.Algorithm)...)
		at := len(t.words)
		t.words = append(t.words, make([]int32, ranks)...)
		for rank := range plans {
			t.words[at+rank] = int32(head + len(t.words))
			t.words = append(t.words, wordsOf(&plans[rank])...)
		}
		t.plans[key] = rest
	}
	return append([]int32{int32(c.Operation), int32(c.Least)}, rest...), nil
}

// nameOf returns a name as words, truncated if it is too long.
func nameOf(name string) []int32 {
	var text [4 * nameWords]byte
	copy(text[:], name)
	words := make([]int32, nameWords)
	for i := range words {
		words[i] = int32(binary.NativeEndian.Uint32(text[4*i:]))
	}
	return words
}

// wordsOf returns a plan as words.
func wordsOf(p *engine.Plan) []int32 {
	actions, places, waiters := p.AllActions(), p.AllPlaces(), p.AllWaiters()
	w := []int32{
		int32(len(p.Receives)), int32(len(p.Sends)), int32(len(p.Folds)), int32(len(p.Rules)), int32(len(p.Scratch)),
		int32(p.Per), int32(p.Held), int32(p.Wanted), int32(p.OwnHeld), int32(p.OwnWanted),
		int32(len(actions)), int32(len(places)), int32(len(waiters)),
	}
	place, waiter := 0, 0
	for _, messages := range [][]engine.Message{p.Receives, p.Sends} {
		for i := range messages {
			m := &messages[i]
			w = append(w, int32(m.Peer), int32(m.Tag), int32(place), int32(len(m.Places)), int32(waiter), int32(len(m.Due)))
			place, waiter = place+len(m.Places), waiter+len(m.Due)
		}
	}
	for i := range p.Folds {
		f := &p.Folds[i]
		w = append(w, int32(f.Made), int32(place), int32(len(f.Operands)), int32(waiter), int32(len(f.Due)))
		place, waiter = place+len(f.Operands), waiter+len(f.Due)
	}
	action := 0
	for i := range p.Rules {
		r := &p.Rules[i]
		w = append(w, int32(r.Need), int32(action), int32(len(r.Actions)))
		action += len(r.Actions)
	}
	for _, a := range actions {
		w = append(w, int32(a))
	}
	for _, at := range places {
		w = append(w, int32(at))
	}
	w = append(w, waiters...)
	return append(w, p.Scratch...)
}
