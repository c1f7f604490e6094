package command

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/syntax"
)

// CompleteTag is the key of the field tag that tells the possible values of a flag or an argument:
// names of sources, file or directory, separated by commas. An enum needs no tag.
const CompleteTag = "complete"

// Syntax returns kong's model of a command as plain data.
func Syntax(app *kong.Application) *syntax.Verb { return verbOf(app.Node, nil) }

func verbOf(n *kong.Node, parent *syntax.Verb) *syntax.Verb {
	v := &syntax.Verb{Name: n.Name, Parent: parent, Help: n.Help, Detail: n.Detail, Hidden: n.Hidden}
	if len(n.Children) == 0 {
		v.Arguments = strings.TrimPrefix(n.Summary(), n.Path())
	}
	for _, child := range n.Children {
		v.Verbs = append(v.Verbs, verbOf(child, v))
	}
	for _, arg := range n.Positional {
		a := valueOf(arg)
		a.Many = arg.IsCumulative()
		v.Args = append(v.Args, a)
	}
	for _, f := range n.Flags {
		flag := valueOf(f.Value)
		flag.Short, flag.Hidden, flag.Expert = f.Short, f.Hidden, f.Tag.Has(expertTag)
		if flag.Bool = f.IsBool(); !flag.Bool {
			flag.Placeholder = f.FormatPlaceHolder()
		}
		v.Flags = append(v.Flags, flag)
	}
	return v
}

func valueOf(v *kong.Value) *syntax.Value {
	value := &syntax.Value{Name: v.Name, Help: v.Help, Complete: v.Tag.Get(CompleteTag), Many: v.IsSlice()}
	if v.Enum != "" {
		value.Enum = v.EnumSlice()
	}
	return value
}
