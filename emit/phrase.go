package emit

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// count spells a number of things, in English.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return number(n) + " " + thing + "s"
}

// number spells a number of things with separated thousands: 1,024. A number that names something,
// such as a rank, has no separators.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// verb spells a verb after n things: "returns" after one, "return" after more.
func verb(n int, stem string) string {
	if n == 1 {
		return stem + "s"
	}
	return stem
}

// slotPhrase describes slots of one kind in their order: "chunk 0", "signals 1 to 4 and 6".
func slotPhrase(slots []ir.Slot) string {
	word := "chunk"
	switch slots[0].Kind() {
	case ir.KindEnter, ir.KindNone:
		return slots[0].String()
	case ir.KindSignal:
		word = "signal"
	case ir.KindValue:
		word = "partial result"
	case ir.KindInput:
		word = "its contribution"
	}
	var indices []int
	for _, s := range slots {
		indices = append(indices, s.Index())
	}
	return numbered(word, indices)
}

// slotPhrases describes slots in their order. Neighbours of one kind share a phrase: "partial result
// 3 and chunks 1 and 0".
func slotPhrases(slots []ir.Slot) string {
	slots = slices.Compact(slots)
	var parts []string
	for len(slots) > 0 {
		n := 1
		for n < len(slots) && slots[n].Kind() == slots[0].Kind() {
			n++
		}
		parts, slots = append(parts, slotPhrase(slots[:n])), slots[n:]
	}
	return list(parts)
}

// rankPhrase describes ranks in their order: "ranks 4, 2 and 1".
func rankPhrase(ranks []int) string { return numbered("rank", ranks) }

func numbered(word string, numbers []int) string {
	if len(numbers) > 1 {
		word += "s"
	}
	runs := intRuns(numbers, " to ")
	if n := len(runs); n > maxNamed {
		runs = append(runs[:maxNamed:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
	}
	return word + " " + list(runs)
}

// maxNamed is the maximum number of runs of numbers that a phrase names.
const maxNamed = 12

// anyOf describes alternative ranks: "rank 1, 2 or 5".
func anyOf(ranks []int) string { return "rank " + joined(intRuns(ranks, " to "), " or ") }

// list joins parts in English: "a", "a and b", "a, b and c".
func list(parts []string) string { return joined(parts, " and ") }

func joined(parts []string, word string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + word + parts[last]
}

// namesOf spells the names that the author gave to slots of a rank: v1 is "left half".
func namesOf(p *ir.Program) (names []string) {
	for _, s := range slices.Sorted(maps.Keys(p.Names)) {
		names = append(names, fmt.Sprintf("%v is %q", s, p.Names[s]))
	}
	return names
}

// maxNames is the maximum number of named slots that a picture tells.
const maxNames = 12

// namesIn spells the names of slots of some ranks, a line each: rank 3: v1 is "left half".
func namesIn(s *ir.Schedule, ranks iter.Seq[int]) (lines []string) {
	all := 0
	for rank := range ranks {
		for _, name := range namesOf(&s.Programs[rank]) {
			if all++; all <= maxNames {
				lines = append(lines, fmt.Sprintf("rank %d: %s", rank, name))
			}
		}
	}
	if all > maxNames {
		lines = append(lines, "… and "+count(all-maxNames, "more name"))
	}
	return lines
}
