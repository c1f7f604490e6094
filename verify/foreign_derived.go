package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir/dag"
)

// proveDerived checks a broadcast whose file does not say what messages carry.
// A send carries the root's data if the root sends it, or if its rank has
// received a message that carries it before the send may start. Messages of no
// bytes carry nothing.
func (f *foreign) proveDerived() (string, error) {
	holds := f.holds()
	reached := make([]bool, len(f.Ranks))
	reached[f.Root] = true
	for id, h := range holds {
		ref, _ := f.op(id)
		reached[ref.Rank] = reached[ref.Rank] || h
	}
	var missed []int
	for rank, ok := range reached {
		if !ok {
			missed = append(missed, rank)
		}
	}
	if len(missed) == 0 {
		return "the file does not say what messages carry: what a rank holds it may pass on", nil
	}
	return "", fail(missed, nil, nil, "%s never %s what rank %d broadcasts: %s",
		spellRanks(missed), plural(len(missed), "gets", "get"), f.Root, f.tellMissed(holds, missed[0]))
}

// holds returns for each operation whether its rank has the root's data when it
// ends.
func (f *foreign) holds() []bool {
	holds := make([]bool, f.index.Len())
	for _, id := range f.order {
		ref, op := f.op(id)
		holds[id] = ref.Rank == f.Root || slices.ContainsFunc(op.After, func(a int32) bool {
			return holds[f.index.Of(ref.Rank, int(a))]
		}) || op.Kind == dag.Recv && op.Size > 0 && holds[f.mates[id]]
	}
	return holds
}

// tellMissed says why the rank never gets the data.
func (f *foreign) tellMissed(holds []bool, rank int) string {
	for i, op := range f.Ranks[rank] {
		if op.Kind != dag.Recv || op.Peer == rank {
			continue
		}
		send, _ := f.op(f.mates[f.index.Of(rank, i)])
		why := "starts before its rank must have any of it"
		if op.Size == 0 {
			why = "has no bytes"
		}
		return fmt.Sprintf("rank %d only takes what does not derive from it, such as %s, as %s %s", rank, op.Tell(), f.Tell(send), why)
	}
	return fmt.Sprintf("rank %d receives nothing", rank)
}

// maxRanksSpelled is how many ranks are named one by one.
const maxRanksSpelled = 16

// spellRanks writes "ranks 1, 2 and 5".
func spellRanks(ranks []int) string {
	var words []string
	for i, r := range ranks {
		if i == maxRanksSpelled {
			words = append(words, fmt.Sprintf("%d more", len(ranks)-i))
			break
		}
		words = append(words, fmt.Sprint(r))
	}
	if len(words) == 1 {
		return "rank " + words[0]
	}
	last := len(words) - 1
	return "ranks " + strings.Join(words[:last], ", ") + " and " + words[last]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
