package remote

import (
	_ "embed"
	"strings"
)

//go:embed script.sh
var script string

// login is what the user's login shell is to run. All shells read it alike.
const login = "exec sh"

// scriptFor is what the shell reads: the words are the script's arguments, the names of the
// programs with blanks between them, and their own arguments.
func scriptFor(names string, args []string) string {
	var b strings.Builder
	b.WriteString("set -- " + quote(names))
	for _, arg := range args {
		b.WriteString(" " + quote(arg))
	}
	b.WriteString("\n" + script)
	return b.String()
}

// quote spells a word so that a shell of POSIX reads it as it is.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
