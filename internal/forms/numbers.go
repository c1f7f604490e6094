package forms

import (
	"strconv"
	"strings"
)

// lookNumbers tells the two numeric tables of rules of Open MPI apart. Both begin with a number of
// collectives, and give at every level the number of items that follow. The table of tuned has
// three levels: collective, communicator and message. A message has four numbers. The table of han
// has four levels: collective, level of the topology, its size and message. A message has two
// words. Words after # are a comment.
func lookNumbers(head []byte) Form {
	w := words(head)
	switch {
	case len(w) == 0:
		return Unknown
	case w.tuned():
		return OpenMPITuned
	case w.han():
		return OpenMPIHAN
	}
	return Unknown
}

// table holds the words of a table that are still to be read.
type table []string

func words(text []byte) table {
	var all table
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		all = append(all, strings.Fields(line)...)
	}
	return all
}

// number reads a number.
func (t *table) number() (n int, ok bool) {
	if len(*t) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi((*t)[0])
	*t = (*t)[1:]
	return n, err == nil && n >= 0
}

// name reads a number or a name.
func (t *table) name() bool {
	if len(*t) == 0 {
		return false
	}
	word := (*t)[0]
	*t = (*t)[1:]
	return strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// each reads a number n, and then calls item n times.
func (t *table) each(item func() bool) bool {
	n, ok := t.number()
	for i := 0; ok && i < n; i++ {
		ok = item()
	}
	return ok
}

func (t table) tuned() bool {
	message := func() bool {
		for range 4 {
			if _, ok := t.number(); !ok {
				return false
			}
		}
		return true
	}
	communicator := func() bool { _, ok := t.number(); return ok && t.each(message) }
	collective := func() bool { _, ok := t.number(); return ok && t.each(communicator) }
	return t.each(collective) && len(t) == 0
}

func (t table) han() bool {
	message := func() bool {
		if _, ok := t.number(); !ok || !t.name() {
			return false
		}
		if len(t) > 0 && strings.HasPrefix(t[0], "@") {
			t = t[1:] // the rest says how the component does it
		}
		return true
	}
	size := func() bool { _, ok := t.number(); return ok && t.each(message) }
	level := func() bool { return t.name() && t.each(size) }
	collective := func() bool { return t.name() && t.each(level) }
	return t.each(collective) && len(t) == 0
}
