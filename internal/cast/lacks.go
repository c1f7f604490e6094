package cast

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// roundNote is what the sender tells the receivers of a round.
type roundNote struct {
	Transport string        `json:"transport"`
	Survey    bool          `json:"survey,omitempty"`  // the round is a survey; its receivers enter again for the data
	Stream    string        `json:"stream,omitempty"`  // name of the stream, which a receiver may continue in a later round; empty: it cannot
	From      int64         `json:"from,omitempty"`    // byte of the stream with which the round begins
	Packed    bool          `json:"packed,omitempty"`  // the data are compressed by zstd
	Hops      int           `json:"hops,omitempty"`    // hops of multicasts
	Silence   time.Duration `json:"silence,omitempty"` // time after which a silent host is lost; negative: never
}

func (n roundNote) spell() string {
	b, err := json.Marshal(n)
	if err != nil {
		return "" // cannot happen: every field can be encoded
	}
	return string(b)
}

func noteOf(text string) (n roundNote, err error) {
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return n, fmt.Errorf("the sender's note cannot be read: %w", err)
	}
	return n, nil
}

const (
	// A host may be served together with hosts that lack other blocks. It then also gets blocks
	// that it has: at most 1/spareShare of the blocks that it lacks, plus spareBlocks.
	spareShare  = 4
	spareBlocks = 8
	// mostGroups is the greatest number of rounds for hosts that lack different blocks. The last of
	// these rounds serves all remaining hosts.
	mostGroups = 8
)

// lacks holds the blocks that receivers lack, by the ID of their processes.
type lacks struct {
	blocks int64 // number of blocks of the payload
	sets   map[string]*block.Set
	seen   map[string]*block.Set // blocks lacked by size and time, from an outline
	groups int                   // number of groups served
}

// learn records a receiver's answer to a survey or an outline. A receiver that lacks nothing by an
// outline needs no survey.
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

// forget removes a receiver, which has more data by now and compares again.
func (l *lacks) forget(id string) {
	delete(l.sets, id)
	delete(l.seen, id)
}

// unseen returns the receivers that resume and have not compared sizes and times.
func (l *lacks) unseen(all []lobby.Guest) (chosen []int, some bool) {
	for i := range all {
		w := wordOf(&all[i])
		if _, known := l.seen[w.ID]; w.Resume && !known {
			chosen = append(chosen, i)
		}
	}
	return chosen, len(chosen) > 0
}

// unknown returns the receivers that resume and have not answered a survey, and the blocks that at
// least one of them lacks by size and time.
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

// group returns the receivers that are served together next, and the blocks that at least one of
// them lacks. It takes the first receiver, and adds a receiver if the group then sends it few
// blocks that it has.
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
