package msccl

import "strings"

// words are the values of the attribute coll and the collectives that they name. A file with a word
// is read as the first collective of that word.
var words = []struct{ word, collective string }{
	{"broadcast", "bcast"},
	{"broadcast", "anycast"},
	{"scatter", "scatter"},
	{"gather", "gather"},
	{"allgather", "allgather"},
	{"alltoall", "alltoall"},
	{"reduce", "reduce"},
	{"allreduce", "allreduce"},
	{"reduce_scatter", "reduce-scatter"},
	{"reducescatter", "reduce-scatter"},
}

// custom is the value of coll in a file that does not say what it does.
const custom = "custom"

// Word returns the value of the attribute coll for a collective, or "custom" if there is none.
func Word(collective string) string {
	for _, w := range words {
		if w.collective == collective {
			return w.word
		}
	}
	return custom
}

// collectiveOf returns the collective that a value of the attribute coll names. For "custom" it
// returns "" and true.
func collectiveOf(word string) (name string, ok bool) {
	for _, w := range words {
		if w.word == word {
			return w.collective, true
		}
	}
	return "", word == custom
}

// known lists the words that Parse reads, without custom.
func known() string {
	var list []string
	for i, w := range words {
		if i == 0 || w.word != words[i-1].word {
			list = append(list, w.word)
		}
	}
	return strings.Join(list, ", ")
}
