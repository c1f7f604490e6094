package cli

import (
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/verify"
)

// completions are the possible values of flags and arguments, by the value of their tag complete.
var completions = map[string]complete.Source{
	"algorithm": algorithmWords,
	"format":    formatWords,
	"check":     checkWords,
	"transport": func(complete.Place) []complete.Word { return complete.Rows(transportHelp) },
	"delay":     func(complete.Place) []complete.Word { return complete.Words(delays...) },
	"claim":     func(complete.Place) []complete.Word { return complete.Words(verify.Claims()...) },
	"network": func(complete.Place) []complete.Word {
		return complete.Words(append(strings.Split(networkKinds(), ", "), "order")...)
	},
	"tuned":     func(complete.Place) []complete.Word { return complete.Words(tunable()...) },
	"loss":      func(complete.Place) []complete.Word { return complete.Words("none", "all") },
	"interface": complete.Interfaces,
	"manager":   managerWords,
}

// algorithmWords returns the algorithms of the collective that the verb or its operation names, or
// all algorithms if neither names one.
func algorithmWords(at complete.Place) []complete.Word {
	collective := at.Verb.Name
	if collective == "bench" && len(at.Args) > 0 {
		collective = operationNamed(at.Args[0]).collective
	}
	return source.Words(collective)
}

func formatWords(complete.Place) []complete.Word {
	var words []complete.Word
	for _, f := range emit.Formats() {
		words = append(words, complete.Word{Text: f.Name, Help: f.Summary})
	}
	return words
}

func checkWords(complete.Place) []complete.Word {
	var words []complete.Word
	for _, c := range verify.Checks() {
		words = append(words, complete.Word{Text: c.Name, Help: c.Summary})
	}
	return words
}

// managerWords returns the beginnings of the values of --manager.
func managerWords(complete.Place) []complete.Word {
	words := complete.Rows(managerHelp)
	for i := range words {
		kind, _, _ := strings.Cut(words[i].Text, "://")
		words[i].Text = kind + "://"
	}
	return words
}
