package explore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// A chunk that comes from another rank while this rank folds its contribution in the same memory
// makes the result wrong. The core copies the contribution of a schedule that verify refuses
// in-place, and nothing is wrong. Without the copy, the search finds the wrong result: the stories
// are the goldens in testdata.
func TestChunkComesIntoAContribution(t *testing.T) {
	for _, name := range []string{"in-place-multicast-into-fold", "in-place-repair-into-fold", "in-place-multicast-and-value-into-fold"} {
		t.Run(name, func(t *testing.T) {
			c := broken(t, name)
			c.InPlace = true
			o := Options{Ranks: 2, Calls: []Call{c}, Losses: 1, Pieces: 2, Parts: true}
			_, r := explored(t, o, nil)
			require.Nil(t, r.Violation)
			require.True(t, r.Complete)
			o.Calls[0].NoCopy = true
			_, r = explored(t, o, nil)
			require.NotNil(t, r.Violation)
			compare(t, filepath.Join("testdata", name+".story"), spell(r.Violation))
		})
	}
}

// An algorithm that promises it needs no copy, in whatever order parts of folds and of chunks come.
func TestInPlace(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		if row := a.Row(); !a.InPlace || row.Question > 0 || row.Inputs(2) > 1 {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				c := callOf(t, a.Name, ranks, 1)
				c.InPlace, c.NoCopy = true, true
				o := Options{Ranks: ranks, Calls: []Call{c}, Losses: 1, Pieces: 2, Parts: true}
				if ranks == 3 {
					o.States = heavy.Or(2_000, 0)
				}
				sound(t, o)
			}
		})
	}
}
