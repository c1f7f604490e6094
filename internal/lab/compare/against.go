package compare

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// worseError is the number of cells in which a ratio got worse.
type worseError struct{ cells, of int }

func (e *worseError) Error() string {
	return fmt.Sprintf("worse than stored, by more than noise, in %d of %d cells", e.cells, e.of)
}

// tolerance is the growth of a ratio that always counts as noise, because five runs do not show the
// whole spread.
const tolerance = 1.15

// against prints every cell that both results have. It returns a worseError if a ratio got worse.
func against(w io.Writer, stored, measured *results) error {
	before := map[cell]verdict{}
	for _, v := range stored.verdicts() {
		before[v.cell] = v
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "cell\tstored\tnow\t")
	e := new(worseError)
	for _, now := range measured.verdicts() {
		old, ok := before[now.cell]
		if !ok || math.IsNaN(old.ratio) {
			continue
		}
		e.of++
		word := change(&old, &now)
		if word == worse || word == missing {
			e.cells++
		}
		fmt.Fprintf(table, "%v\t%s\t%s\t%s\n", now.cell, spread(&old), spread(&now), word)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if e.of == 0 {
		return fmt.Errorf("the two have no cell in common")
	}
	if e.cells > 0 {
		return e
	}
	return nil
}

// The changes of a ratio.
const (
	same    = ""
	better  = "better"
	worse   = "WORSE"
	missing = "MISSING"
)

// change tells how a ratio has changed. A change within the spread of the rounds of both results,
// or within the tolerance, is noise.
func change(old, now *verdict) string {
	switch {
	case math.IsNaN(now.ratio):
		return missing
	case now.lo > old.hi && now.ratio > tolerance*old.ratio:
		return worse
	case now.hi < old.lo && now.ratio*tolerance < old.ratio:
		return better
	}
	return same
}

func spread(v *verdict) string {
	if math.IsNaN(v.ratio) {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", v.ratio, v.lo, v.hi)
}
