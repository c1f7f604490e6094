package cast

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// roundNote is what the sender tells a party.
type roundNote struct {
	Transport string        `json:"transport"`
	Survey    bool          `json:"survey,omitempty"`  // what comes is a survey; each comes again then and gets what it lacks
	Stream    string        `json:"stream,omitempty"`  // names what comes: who has got some of the same name goes on behind that; empty: nobody can
	From      int64         `json:"from,omitempty"`    // byte of the stream with which it begins
	Packed    bool          `json:"packed,omitempty"`  // it is compressed by zstd
	Hops      int           `json:"hops,omitempty"`    // of multicasts
	Silence   time.Duration `json:"silence,omitempty"` // of a host that is lost; negative: none is
}

func (n roundNote) spell() string {
	b, err := json.Marshal(n)
	if err != nil {
		return "" // there is nothing in it that cannot be spelt
	}
	return string(b)
}

func noteOf(text string) (n roundNote, err error) {
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return n, fmt.Errorf("what the sender says cannot be read: %w", err)
	}
	return n, nil
}

const (
	// spareShare is the part of what a host lacks that it may get beyond that, and spareBlocks what
	// it may get in any case, so that it is served together with others.
	spareShare  = 4
	spareBlocks = 8
	// mostGroups bounds the rounds of those that lack different things: the last of them is for all
	// that are left.
	mostGroups = 8
)

// lacks is what receivers lack, by their processes.
type lacks struct {
	blocks int64 // of what is sent
	sets   map[string]*block.Set
	seen   map[string]*block.Set // what they lack by size and time
	groups int                   // that were served
}

// learn takes note of what a receiver has answered to a survey, or to an outline. If it lacks
// nothing by an outline, it needs no survey.
func (l *lacks) learn(id string, answer []byte, outline bool) error {
	set, err := block.Parse(answer)
	if err != nil {
		return err
	}
	if l.sets == nil {
		l.sets, l.seen = map[string]*block.Set{}, map[string]*block.Set{}
	}
	l.blocks = max(l.blocks, set.Len())
	if outline {
		l.seen[id] = set
	}
	if !outline || set != nil && set.Lacked(l.blocks) == 0 {
		l.sets[id] = set
	}
	return nil
}

// forget is for a receiver that has more by now: it compares again.
func (l *lacks) forget(id string) {
	delete(l.sets, id)
	delete(l.seen, id)
}

// unseen returns who would resume and has not compared sizes and times.
func (l *lacks) unseen(all []lobby.Guest) (chosen []int, some bool) {
	for i := range all {
		w := wordOf(&all[i])
		if _, known := l.seen[w.ID]; w.Resume && !known {
			chosen = append(chosen, i)
		}
	}
	return chosen, len(chosen) > 0
}

// unknown returns who would resume and has not compared what it has, and what one of them lacks by
// size and time, nil for all.
func (l *lacks) unknown(all []lobby.Guest) (chosen []int, lacked *block.Set) {
	for i := range all {
		w := wordOf(&all[i])
		if _, known := l.sets[w.ID]; !w.Resume || known {
			continue
		}
		if mine := l.seen[w.ID]; len(chosen) == 0 {
			lacked = mine
		} else {
			lacked = block.Union(lacked, mine)
		}
		chosen = append(chosen, i)
	}
	return chosen, lacked
}

// group returns who is served together next, and what one of them lacks: the first of all, and
// others of whom none gets much that it does not lack.
func (l *lacks) group(all []lobby.Guest) (chosen []int, lacked *block.Set) {
	l.groups++
	least := int64(0)
	for i := range all {
		mine := l.sets[wordOf(&all[i]).ID]
		n := mine.Lacked(l.blocks)
		if len(chosen) == 0 {
			chosen, lacked, least = []int{i}, mine, n
			continue
		}
		both := block.Union(lacked, mine)
		if fewest := min(least, n); l.groups >= mostGroups || both.Lacked(l.blocks) <= fewest+fewest/spareShare+spareBlocks {
			chosen, lacked, least = append(chosen, i), both, fewest
		}
	}
	return chosen, lacked
}
