// Package complete finds the words that may follow on a command line, for shells that complete
// words.
package complete

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/schedgen/schedgen/internal/command/syntax"
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

// Print prints an answer for the scripts: a line for each word that may stand at the cursor, with the
// word, a tab and its meaning. A line :files or :directories says that these may stand there, too.
func Print(out io.Writer, a Answer) error {
	var b strings.Builder
	for _, w := range a.Words {
		fmt.Fprintf(&b, "%s\t%s\n", w.Text, w.Help)
	}
	if a.Files {
		b.WriteString(":files\n")
	}
	if a.Directories {
		b.WriteString(":directories\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Source returns the values of a kind.
type Source func(Place) []Word

// Place is the place of the word to complete.
type Place struct {
	App  *syntax.Verb
	Verb *syntax.Verb
	Args []string // arguments of the verb before the word, without flags
}

// Next returns the words that may stand in place of the last of words. words follow the name of the
// command. The last of them, which may be empty, is the typed part of the word to complete.
func Next(app *syntax.Verb, words []string, sources map[string]Source) Answer {
	w := walk{place: Place{App: app, Verb: app}}
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
	due   *syntax.Value // the flag whose value is the next word, or nil
	plain bool          // after --, where no word is a flag
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
		if f := w.flag(func(f *syntax.Value) bool { return f.Name == name }); f != nil && !hasValue && !f.Bool {
			w.due = f
		}
	default:
		w.shorts([]rune(word[1:]))
	}
}

func (w *walk) argument(word string) {
	if verb := w.place.Verb.Below(word); verb != nil && len(w.place.Args) == 0 {
		w.place.Verb = verb
		return
	}
	w.place.Args = append(w.place.Args, word)
}

// shorts reads flags of one letter. If a flag has a value, the rest of the letters is the value.
func (w *walk) shorts(letters []rune) {
	for i, letter := range letters {
		f := w.flag(func(f *syntax.Value) bool { return f.Short == letter })
		switch {
		case f == nil:
			return
		case !f.Bool:
			if i == len(letters)-1 {
				w.due = f
			}
			return
		}
	}
}

// flag returns the first flag of the verb for which wanted returns true, or nil.
func (w *walk) flag(wanted func(*syntax.Value) bool) *syntax.Value {
	for _, f := range w.place.Verb.AllFlags() {
		if wanted(f) {
			return f
		}
	}
	return nil
}

// next returns the words that begin with part and may stand in its place.
func (w *walk) next(part string, sources map[string]Source) Answer {
	if w.due != nil {
		return w.values(w.due, "", part, sources)
	}
	if w.plain || !strings.HasPrefix(part, "-") {
		return w.arguments(part, sources)
	}
	if name, value, has := strings.Cut(part, "="); has {
		f := w.flag(func(f *syntax.Value) bool { return "--"+f.Name == name })
		if f == nil {
			return Answer{}
		}
		return w.values(f, name+"=", value, sources)
	}
	return Answer{Words: starting(w.flags(), "", part)}
}

func (w *walk) flags() []Word {
	var words []Word
	for _, f := range w.place.Verb.AllFlags() {
		if !f.Hidden {
			words = append(words, Word{"--" + f.Name, brief(f.Help)})
		}
	}
	return words
}

// arguments returns the verbs below the verb, and the values of its next argument.
func (w *walk) arguments(part string, sources map[string]Source) Answer {
	verb, at := w.place.Verb, len(w.place.Args)
	var verbs []Word
	if at == 0 {
		verbs = starting(Verbs(verb), "", part)
	}
	if last := len(verb.Args) - 1; at > last && last >= 0 && verb.Args[last].Many {
		at = last
	}
	if at >= len(verb.Args) {
		return Answer{Words: verbs}
	}
	a := w.values(verb.Args[at], "", part, sources)
	a.Words = append(verbs, a.Words...)
	return a
}

// Verbs returns the verbs directly below v, without hidden ones.
func Verbs(v *syntax.Verb) []Word {
	var words []Word
	for _, below := range v.Verbs {
		if !below.Hidden {
			words = append(words, Word{below.Name, brief(below.Help)})
		}
	}
	return words
}

// Below is a source. The arguments before the word name a verb, and Below returns the verbs directly
// below it.
func Below(at Place) []Word {
	verb := at.App
	for _, name := range at.Args {
		if verb = verb.Below(name); verb == nil {
			return nil
		}
	}
	return Verbs(verb)
}

// values returns the values of a flag or argument that begin with part. before is the text before
// part in the same word, such as "--check=".
func (w *walk) values(v *syntax.Value, before, part string, sources map[string]Source) Answer {
	if v.Many { // a comma ends a value
		if comma := strings.LastIndexByte(part, ','); comma >= 0 {
			before, part = before+part[:comma+1], part[comma+1:]
		}
	}
	var a Answer
	var words []Word
	for _, text := range v.Enum {
		words = append(words, Word{Text: text})
	}
	for kind := range strings.SplitSeq(v.Complete, ",") {
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
