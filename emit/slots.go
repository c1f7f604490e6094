package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// slotList spells slots of one kind shortly: c0, c0-3, c0,2,5. A list that
// takes more than three runs of numbers is only counted: "9 chunks". slots is
// sorted.
func slotList(slots []ir.Slot) string {
	if len(slots) == 0 {
		return ""
	}
	letter := slots[0].String()[:1]
	runs := numberRuns(slots)
	if len(runs) > 3 {
		return fmt.Sprintf("%d %s", len(slots), kindPlural(slots[0]))
	}
	return letter + strings.Join(runs, ",")
}

func kindPlural(s ir.Slot) string {
	if s.Kind() == ir.KindSignal {
		return "signals"
	}
	return "chunks"
}

// numberRuns returns the indices of sorted slots as runs: "0-3", "5".
func numberRuns(slots []ir.Slot) []string {
	indices := make([]int, len(slots))
	for i, s := range slots {
		indices[i] = s.Index()
	}
	return intRuns(indices, "-")
}

// intRuns returns sorted numbers as runs joined by the word to; numbers that
// repeat count once.
func intRuns(sorted []int, to string) []string {
	var out []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1]-sorted[j] <= 1 {
			j++
		}
		lo, hi := strconv.Itoa(sorted[i]), strconv.Itoa(sorted[j])
		switch sorted[j] - sorted[i] {
		case 0:
			out = append(out, lo)
		case 1:
			out = append(out, lo, hi)
		default:
			out = append(out, lo+to+hi)
		}
		i = j + 1
	}
	return out
}
