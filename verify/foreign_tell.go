package verify

import (
	"fmt"
	"strings"
)

// Bounds of lists in print.
const (
	maxRanksSpelled = 16
	maxNamed        = 6 // operations
)

// spellRanks returns text such as "ranks 1, 2 and 5".
func spellRanks(ranks []int) string {
	var words []string
	for _, r := range ranks {
		words = append(words, fmt.Sprint(r))
	}
	return plural(len(ranks), "rank ", "ranks ") + joined(words, maxRanksSpelled)
}

// joined returns text such as "a, b and c", or "a, b and 7 more".
func joined(words []string, most int) string {
	if n := len(words); n > most {
		words = append(words[:most:most], fmt.Sprintf("%d more", n-most))
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
