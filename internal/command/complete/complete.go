// Package complete finds the words that may follow on a command line, for shells that complete
// words. It reads them from kong's model of the command.
package complete

import (
	"net"
	"strings"

	"github.com/alecthomas/kong"
)

// Word is a word that may follow.
type Word struct {
	Text string
	Help string // a few words, or ""
}

// Words returns words without help.
func Words(texts ...string) []Word {
	var words []Word
	for _, text := range texts {
		words = append(words, Word{Text: text})
	}
	return words
}

// Rows returns the words of rows of a word and its meaning.
func Rows(rows [][2]string) []Word {
	var words []Word
	for _, row := range rows {
		words = append(words, Word{Text: row[0], Help: row[1]})
	}
	return words
}

// Interfaces is a source of the network interfaces of this host.
func Interfaces(Place) []Word {
	all, err := net.Interfaces()
	if err != nil {
		return nil // a shell cannot show the error
	}
	var words []Word
	for _, i := range all {
		words = append(words, Word{Text: i.Name})
	}
	return words
}

// Answer lists the words that may follow.
type Answer struct {
	Words       []Word
	Files       bool // any file may also follow
	Directories bool // any directory may also follow
}

// Tag is the key of the field tag that tells the possible values of a flag or an argument: names of
// sources, file or directory, separated by commas. An enum needs no tag.
const Tag = "complete"

// Source returns the values of a kind.
type Source func(Place) []Word

// Place is the place of the word to complete.
type Place struct {
	App  *kong.Node
	Verb *kong.Node
	Args []string // arguments of the verb before the word, without flags
}

// Next returns the words that may stand in place of the last of words. words follow the name of the
// command. The last of them, which may be empty, is the typed part of the word to complete.
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

// walk is the state after reading a part of a command line.
type walk struct {
	place Place
	due   *kong.Flag // the flag whose value is the next word, or nil
	plain bool       // after --, where no word is a flag
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

// shorts reads flags of one letter. If a flag has a value, the rest of the letters is the value.
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

// flag returns the first flag of the verb for which wanted returns true, or nil.
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

// next returns the words that begin with part and may stand in its place.
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

// arguments returns the verbs below the verb, or the values of its next argument.
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

// Verbs returns the verbs directly below node, without hidden ones.
func Verbs(node *kong.Node) []Word {
	var words []Word
	for _, child := range node.Children {
		if !child.Hidden {
			words = append(words, Word{child.Name, brief(child.Help)})
		}
	}
	return words
}

// values returns the values of a flag or argument that begin with part. before is the text before
// part in the same word, such as "--check=".
func (w *walk) values(v *kong.Value, before, part string, sources map[string]Source) Answer {
	if v.IsSlice() && v.Flag != nil { // a comma ends a value
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

// starting returns the words that begin with part, each with before in front.
func starting(words []Word, before, part string) []Word {
	var out []Word
	for _, word := range words {
		if strings.HasPrefix(word.Text, part) {
			out = append(out, Word{before + word.Text, word.Help})
		}
	}
	return out
}

// brief returns a help text up to its first full stop or semicolon.
func brief(help string) string {
	help, _, _ = strings.Cut(help, ";")
	help, _, _ = strings.Cut(help, ". ")
	return strings.TrimSuffix(help, ".")
}
