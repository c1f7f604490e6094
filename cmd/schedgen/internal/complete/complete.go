// Package complete says how a command line may go on, for shells that complete
// words: from kong's model of the command, so that nothing is listed twice.
package complete

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Word is a word that may stand next.
type Word struct {
	Text string
	Help string // a few words, may be empty
}

// Answer is how a command line may go on.
type Answer struct {
	Words       []Word
	Files       bool // any file too
	Directories bool // any directory too
}

// Tag is the key of a field's tag that says what the value of a flag or an
// argument is: names of sources, or file or directory, with commas between them.
// An enum needs none.
const Tag = "complete"

// Source gives the values of a kind.
type Source func(Place) []Word

// Place is where a word is to be completed.
type Place struct {
	App  *kong.Node
	Verb *kong.Node
	Args []string // the verb's arguments before it, without flags
}

// Next returns how words may go on behind the command's name; the last one,
// which may be empty, is what has been typed of the word to be completed.
func Next(app *kong.Application, words []string, sources map[string]Source) Answer {
	w := walk{place: Place{App: app.Node, Verb: app.Node}}
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	for _, word := range words[:last] {
		w.take(word)
	}
	return w.next(words[last], sources)
}

// walk is a command line that has been read so far.
type walk struct {
	place Place
	due   *kong.Flag // whose value is the next word; nil: none
	plain bool       // behind --, where nothing is a flag
}

func (w *walk) take(word string) {
	switch {
	case w.due != nil:
		w.due = nil
	case w.plain || len(word) < 2 || word[0] != '-':
		w.argument(word)
	case word == "--":
		w.plain = true
	case word[1] == '-':
		name, _, hasValue := strings.Cut(word[2:], "=")
		if f := w.flag(func(f *kong.Flag) bool { return f.Name == name }); f != nil && !hasValue && !f.IsBool() {
			w.due = f
		}
	default:
		w.shorts([]rune(word[1:]))
	}
}

func (w *walk) argument(word string) {
	for _, child := range w.place.Verb.Children {
		if child.Name == word {
			w.place.Verb = child
			return
		}
	}
	w.place.Args = append(w.place.Args, word)
}

// shorts takes flags of one letter; the rest behind one that has a value is
// that value.
func (w *walk) shorts(letters []rune) {
	for i, letter := range letters {
		f := w.flag(func(f *kong.Flag) bool { return f.Short == letter })
		switch {
		case f == nil:
			return
		case !f.IsBool():
			if i == len(letters)-1 {
				w.due = f
			}
			return
		}
	}
}

// flag returns the flag of the verb that is wanted, nil if there is none.
func (w *walk) flag(wanted func(*kong.Flag) bool) *kong.Flag {
	for _, group := range w.place.Verb.AllFlags(false) {
		for _, f := range group {
			if wanted(f) {
				return f
			}
		}
	}
	return nil
}

// next returns how part may go on.
func (w *walk) next(part string, sources map[string]Source) Answer {
	if w.due != nil {
		return w.values(w.due.Value, "", part, sources)
	}
	if w.plain || !strings.HasPrefix(part, "-") {
		return w.arguments(part, sources)
	}
	if name, value, has := strings.Cut(part, "="); has {
		f := w.flag(func(f *kong.Flag) bool { return "--"+f.Name == name })
		if f == nil {
			return Answer{}
		}
		return w.values(f.Value, name+"=", value, sources)
	}
	return Answer{Words: starting(w.flags(), "", part)}
}

func (w *walk) flags() []Word {
	var words []Word
	for _, group := range w.place.Verb.AllFlags(true) {
		for _, f := range group {
			words = append(words, Word{"--" + f.Name, brief(f.Help)})
		}
	}
	return words
}

// arguments are the verbs below the verb, or the values of its next argument.
func (w *walk) arguments(part string, sources map[string]Source) Answer {
	verb := w.place.Verb
	if len(verb.Children) > 0 && len(w.place.Args) == 0 {
		return Answer{Words: starting(Verbs(verb), "", part)}
	}
	at := len(w.place.Args)
	if last := len(verb.Positional) - 1; at > last && last >= 0 && verb.Positional[last].IsCumulative() {
		at = last
	}
	if at >= len(verb.Positional) {
		return Answer{}
	}
	return w.values(verb.Positional[at], "", part, sources)
}

// Verbs are the verbs directly below one.
func Verbs(node *kong.Node) []Word {
	var words []Word
	for _, child := range node.Children {
		if !child.Hidden {
			words = append(words, Word{child.Name, brief(child.Help)})
		}
	}
	return words
}

// values are the values of a flag or argument of which part has been typed
// behind before.
func (w *walk) values(v *kong.Value, before, part string, sources map[string]Source) Answer {
	if v.IsSlice() && v.Flag != nil { // after a comma the next one begins
		if comma := strings.LastIndexByte(part, ','); comma >= 0 {
			before, part = before+part[:comma+1], part[comma+1:]
		}
	}
	var a Answer
	var words []Word
	if v.Enum != "" {
		for _, text := range v.EnumSlice() {
			words = append(words, Word{Text: text})
		}
	}
	for kind := range strings.SplitSeq(v.Tag.Get(Tag), ",") {
		switch source, known := sources[kind]; {
		case kind == "file":
			a.Files = true
		case kind == "directory":
			a.Directories = true
		case known:
			words = append(words, source(w.place)...)
		}
	}
	a.Words = starting(words, before, part)
	return a
}

// starting returns the words that begin with part, with before put in front.
func starting(words []Word, before, part string) []Word {
	var out []Word
	for _, word := range words {
		if strings.HasPrefix(word.Text, part) {
			out = append(out, Word{before + word.Text, word.Help})
		}
	}
	return out
}

// brief is a help text up to its first full stop or semicolon.
func brief(help string) string {
	help, _, _ = strings.Cut(help, ";")
	help, _, _ = strings.Cut(help, ". ")
	return strings.TrimSuffix(help, ".")
}
