package command

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// fillIn replaces variables in the texts of a verb and of those below it, which may set others. Kong
// can do so, but interpolates the values of all variables again for every flag. That would take most
// of the time in which a process starts.
func fillIn(n *kong.Node, variable func(string) string) {
	if n.Tag != nil && n.Tag.Vars != nil {
		outer, own := variable, n.Tag.Vars
		variable = func(name string) string {
			if value, ok := own[name]; ok {
				return value
			}
			return outer(name)
		}
		n.Tag.Vars = nil // nothing is left for kong
	}
	fill := func(text *string) {
		if strings.Contains(*text, "${") {
			*text = os.Expand(*text, variable)
		}
	}
	fill(&n.Help)
	for _, name := range []string{"program", "example"} { // a long text may also show variables of a shell
		n.Detail = strings.ReplaceAll(n.Detail, "${"+name+"}", variable(name))
	}
	for _, f := range n.Flags {
		fill(&f.Help)
		fill(&f.Enum)
	}
	for _, arg := range n.Positional {
		fill(&arg.Help)
		fill(&arg.Enum)
	}
	for _, child := range n.Children {
		fillIn(child, variable)
	}
}

// hideRefused hides the flags that a verb refuses whatever their values are. The verb's error still
// tells the reason.
func hideRefused(n *kong.Node) {
	if n.Target.CanAddr() {
		if verb, ok := n.Target.Addr().Interface().(interface{ Refused() []string }); ok {
			for _, f := range n.Flags {
				f.Hidden = f.Hidden || slices.Contains(verb.Refused(), f.Name)
			}
		}
	}
	for _, child := range n.Children {
		hideRefused(child)
	}
}
