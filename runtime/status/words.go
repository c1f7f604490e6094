package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime"
)

// Wants describes in words what an operation waits for. It returns "" if it waits for nothing.
func Wants(o *runtime.Operation) string {
	var all []string
	add := func(format string, ranks []int) {
		if len(ranks) > 0 {
			all = append(all, fmt.Sprintf(format, ranksText(ranks)))
		}
	}
	if o.Delayed {
		all = append(all, "its root has not started, as Config.Delay says")
	}
	if m := &o.Missing; m.Chunks+m.Signals > 0 {
		all = append(all, "it lacks "+Lacks(m))
	}
	add("from %s", o.WaitsFor)
	if o.Unsent > 0 {
		all = append(all, fmt.Sprintf("%d frames have not left", o.Unsent))
	}
	add("they go to %s", o.SendsTo)
	for i := range o.Waiting {
		all = append(all, held(&o.Waiting[i]))
	}
	return strings.Join(all, ", ")
}

// held describes actions that wait.
func held(w *core.Waiting) string {
	ranks := ranksText(w.Ranks)
	if ranks == "" {
		ranks = "other ranks"
	}
	switch w.For {
	case "entry":
		return fmt.Sprintf("puts of %s wait until %s enter", runsText(w.Slots, w.Count), ranks)
	case "report":
		return fmt.Sprintf("puts of %s wait for reports of %s", runsText(w.Slots, w.Count), ranks)
	case "room":
		return fmt.Sprintf("multicasts of %s wait for reports of %s", runsText(w.Slots, w.Count), ranks)
	default: // work
		return fmt.Sprintf("%s are still to be folded", runsText(w.Slots, w.Count))
	}
}

// maxRuns is the number of runs of slots that are named.
const maxRuns = 6

// Lacks returns the missing slots in words, such as "c3-c7, s0". If it does not name all of them,
// it adds their number.
func Lacks(m *core.Missing) string { return runsText(m.Runs, m.Chunks+m.Signals) }

// runsText returns the first runs of slots in words. all is the number of slots in all runs.
func runsText(runs []core.Run, all int) string {
	var names []string
	for _, r := range runs[:min(len(runs), maxRuns)] {
		names = append(names, r.String())
	}
	text := strings.Join(names, ", ")
	if len(runs) > maxRuns {
		text += fmt.Sprintf(" …, %d slots in all", all)
	}
	return text
}

// call returns the call of an operation in words.
func call(o *runtime.Operation) string {
	text := o.Name
	if o.Root >= 0 {
		text += fmt.Sprintf(" from rank %d, %d bytes in %s", o.Root, o.Bytes, chunks(o.Chunks)) // the exact length, because calls may differ in it alone
	}
	return text
}

// sizeText returns a number of bytes in the largest binary unit that does not exceed it, with three
// digits, such as "16 MiB", "1.5 KiB" or "1000 B".
func sizeText(bytes int) string {
	const units = "KMGTPE"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/(1<<10), 0
	for ; value >= 1023.5 && unit < len(units)-1; unit++ {
		value /= 1 << 10
	}
	if value >= 1000 {
		return fmt.Sprintf("%.0f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.3g %ciB", value, units[unit])
}

func chunks(n int) string {
	if n == 1 {
		return "1 chunk"
	}
	return fmt.Sprintf("%d chunks", n)
}

// span returns a duration in words.
func span(t core.Time) string {
	d := time.Duration(t)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// has and haveBeen return "rank 3 has" and "ranks 0-2 have been", for example.
func has(ranks []int) string {
	if len(ranks) == 1 {
		return ranksText(ranks) + " has"
	}
	return ranksText(ranks) + " have"
}

func haveBeen(ranks []int) string { return has(ranks) + " been" }

// ranksText returns "rank 3" or "ranks 0-2, 5", for example.
func ranksText(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + Numbers(ranks)
}

// Numbers formats ascending numbers and joins runs of them: "0-2, 5".
func Numbers(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		switch {
		case last == i:
			parts = append(parts, fmt.Sprint(all[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}
