// Package syntax describes a command line as plain data, for completion and for manual pages. It
// does not depend on the parser.
package syntax

// Verb is a verb of a command, or the command itself.
type Verb struct {
	Name      string
	Parent    *Verb  // nil: the command
	Arguments string // how the arguments are written, such as " <file> [<host> ...] [flags]"; "" if a verb must follow
	Help      string // one sentence
	Detail    string // in the form of Go's doc comments
	Hidden    bool
	Verbs     []*Verb
	Args      []*Value
	Flags     []*Value
}

// Value is a flag or an argument.
type Value struct {
	Name        string
	Short       rune   // 0: none
	Placeholder string // what stands for the value of a flag
	Help        string
	Enum        []string // the possible values; nil: others are possible
	Complete    string   // kinds of values for completion, separated by commas
	Bool        bool     // a flag without a value
	Many        bool     // a flag whose value is a list, or the last argument, which may be repeated
	Hidden      bool
	Expert      bool // a flag that --help leaves out
}

// Path returns the words that call the verb, with blanks between them.
func (v *Verb) Path() string {
	if v.Parent == nil {
		return v.Name
	}
	return v.Parent.Path() + " " + v.Name
}

// Leaves returns the verbs at and below v that need no further verb, without hidden ones.
func (v *Verb) Leaves() (all []*Verb) {
	if v.Hidden {
		return nil
	}
	if len(v.Verbs) == 0 || v.Arguments != "" {
		all = append(all, v)
	}
	for _, below := range v.Verbs {
		all = append(all, below.Leaves()...)
	}
	return all
}

// AllFlags returns the flags that the verb takes. A verb that needs a verb below it passes on its
// flags, which come first.
func (v *Verb) AllFlags() []*Value {
	if v.Parent == nil || v.Parent.Arguments != "" {
		return v.Flags
	}
	all := v.Parent.AllFlags()
	return append(all[:len(all):len(all)], v.Flags...)
}

// Below returns the verb of that name directly below v, or nil.
func (v *Verb) Below(name string) *Verb {
	for _, below := range v.Verbs {
		if below.Name == name {
			return below
		}
	}
	return nil
}
