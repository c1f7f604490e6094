package verify

import (
	"errors"
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

// inFile adds to a failure what its places are in the file. name returns "" for a place that is
// nothing in it.
func inFile(err error, name func(Place) string) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	places := f.Places
	for _, st := range f.Path {
		places = append(places[:len(places):len(places)], st.Place)
	}
	var names []string
	seen := make(map[Place]bool)
	for _, p := range places {
		if text := name(p); text != "" && !seen[p] && len(names) < maxNamed {
			names = append(names, text)
			seen[p] = true
		}
	}
	if len(names) > 0 {
		f.Text += "; " + strings.Join(names, ", ")
	}
	return err
}
