package emit

import (
	"fmt"
	"strconv"
	"strings"
)

// Extract says which ranks of a schedule a picture shows. The zero value shows all of them while
// that is readable, and otherwise the most readable of the other extracts.
type Extract struct {
	kind extractKind
	rank int // for onePart
}

type extractKind uint8

const (
	automatic    extractKind = iota
	everybody                // all ranks
	criticalPath             // the ranks on the path to the last return
	oneOfEach                // representatives of every role
	onePart                  // one rank and the ranks that it deals with
	sums                     // no ranks: the sums of the transfers of each round
)

var extractNames = [...]string{automatic: "auto", everybody: "all", criticalPath: "path", oneOfEach: "roles", onePart: "rank=R", sums: "sums"}

// ExtractNames returns the spellings of extracts.
func ExtractNames() []string { return extractNames[:] }

// UnmarshalText reads one of [ExtractNames]. R stands for the number of a rank.
func (x *Extract) UnmarshalText(text []byte) error {
	if rank, ok := strings.CutPrefix(string(text), "rank="); ok {
		n, err := strconv.ParseUint(rank, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is not a rank: must be a number, such as rank=0", rank)
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
	return fmt.Errorf("%q is not an extract: must be %s", text, joined(ExtractNames(), " or "))
}

// String returns the spelling that UnmarshalText reads.
func (x Extract) String() string {
	if x.kind == onePart {
		return "rank=" + strconv.Itoa(x.rank)
	}
	return extractNames[x.kind]
}

// check fails if the extract names a rank that does not exist.
func (x Extract) check(ranks int) error {
	if x.kind == onePart && x.rank >= ranks {
		return fmt.Errorf("extract %v: the schedule has only ranks 0 … %d", x, ranks-1)
	}
	return nil
}

// A picture shows all ranks if there are at most wholeRanks. With more than crowdRanks, it must
// also have at most wholeRounds rounds and at most crowdArrows arrows for each rank.
const (
	wholeRanks  = 32
	wholeRounds = 24
	crowdRanks  = 16
	crowdArrows = 3
)

// crowded reports whether a picture of all ranks would be unreadable.
func (t *run) crowded() bool {
	ranks := len(t.Programs)
	if ranks > wholeRanks {
		return true
	}
	return ranks > crowdRanks && (t.last > wholeRounds || t.arrows() > crowdArrows*ranks)
}

// arrows counts the arrows of the run: pairs of ranks between which something moves in a round. A
// multicast counts once for each receiver.
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

// pick is the ranks that an extract shows, ascending.
type pick struct {
	ranks []int
	hub   int    // show only what this rank sends or gets; -1: everything between the ranks
	why   string // describes these ranks
}

// pick chooses the ranks of an extract, at most most of them.
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

// pickBest chooses the most readable extract. If all ranks do the same, that is one of them. If
// everything is over in two rounds, or the path to the last return is too long to show, it is one
// rank of each role. Otherwise it is that path.
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
