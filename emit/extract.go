package emit

import (
	"fmt"
	"strconv"
	"strings"
)

// Extract says which ranks of a schedule a picture shows. The zero value shows
// all of them while that is readable, else what reads best of the others.
type Extract struct {
	kind extractKind
	rank int // of onePart
}

type extractKind uint8

const (
	automatic    extractKind = iota
	everybody                // all ranks
	criticalPath             // the ranks on the way to the last return
	oneOfEach                // representatives of every role
	onePart                  // one rank and those it has to do with
	sums                     // no ranks: the transfers of each round, summed up
)

var extractNames = [...]string{automatic: "auto", everybody: "all", criticalPath: "path", oneOfEach: "roles", onePart: "rank=R", sums: "sums"}

// ExtractNames returns how extracts are spelled.
func ExtractNames() []string { return extractNames[:] }

// UnmarshalText reads one of [ExtractNames], R being the number of a rank.
func (x *Extract) UnmarshalText(text []byte) error {
	if rank, ok := strings.CutPrefix(string(text), "rank="); ok {
		n, err := strconv.ParseUint(rank, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is no rank: must be a number, such as rank=0", rank)
		}
		*x = Extract{onePart, int(n)}
		return nil
	}
	for kind, name := range extractNames {
		if name == string(text) && extractKind(kind) != onePart {
			*x = Extract{kind: extractKind(kind)}
			return nil
		}
	}
	return fmt.Errorf("%q is no extract: must be %s", text, joined(ExtractNames(), " or "))
}

// String spells the extract as UnmarshalText reads it.
func (x Extract) String() string {
	if x.kind == onePart {
		return "rank=" + strconv.Itoa(x.rank)
	}
	return extractNames[x.kind]
}

// check fails if the extract is of a rank that is not.
func (x Extract) check(ranks int) error {
	if x.kind == onePart && x.rank >= ranks {
		return fmt.Errorf("extract %v: there are only ranks 0 … %d", x, ranks-1)
	}
	return nil
}

// A picture shows all ranks up to wholeRanks if it has at most wholeRounds
// rounds and, from crowdRanks on, no more than crowdArrows for each rank.
const (
	wholeRanks  = 32
	wholeRounds = 24
	crowdRanks  = 16
	crowdArrows = 3
)

// crowded reports whether a picture of all ranks would not be readable.
func (t *run) crowded() bool {
	ranks := len(t.Programs)
	if ranks > wholeRanks {
		return true
	}
	return ranks > crowdRanks && (t.last > wholeRounds || t.arrows() > crowdArrows*ranks)
}

// arrows counts what is drawn of the run: pairs of ranks between which
// something moves in a round, a multicast once for each rank.
func (t *run) arrows() int {
	type arrow struct {
		round    int
		class    class
		from, to int
	}
	seen := map[arrow]bool{}
	n := 0
	t.moves(func(tr transfer) {
		at := arrow{tr.round, tr.class, tr.from, tr.to}
		switch {
		case seen[at]:
		case tr.to == everyone:
			n += len(t.Programs) - 1
		default:
			n++
		}
		seen[at] = true
	})
	return n
}

// pick is the ranks that an extract shows, at most so many, ascending.
type pick struct {
	ranks []int
	hub   int    // only what this rank sends or gets is shown; -1: all between them
	why   string // what ranks these are
}

// pick chooses the ranks of an extract.
func (t *run) pick(x Extract, most int) pick {
	switch x.kind {
	case everybody:
		return t.pickAll()
	case criticalPath:
		return t.pickPath(most)
	case oneOfEach:
		return t.pickRoles(most)
	case onePart:
		return t.pickPart(x.rank, most)
	}
	return t.pickBest(most)
}

func (t *run) pickAll() pick {
	all := make([]int, len(t.Programs))
	for rank := range all {
		all[rank] = rank
	}
	return pick{ranks: all, hub: -1}
}

// pickBest chooses what reads best: where all ranks do the same, one of them;
// where all is over in two rounds or the way to the last return is too long to
// show, one of each role; else that way.
func (t *run) pickBest(most int) pick {
	ranks := len(t.Programs)
	switch {
	case ranks <= most && !t.crowded():
		return t.pickAll()
	case ranks > 2 && len(t.roles()) == 1:
		return t.pickPart(t.Root, most)
	case t.rounds > 2 && len(t.path()) <= min(most, wholeRounds):
		return t.pickPath(most)
	}
	return t.pickRoles(most)
}
