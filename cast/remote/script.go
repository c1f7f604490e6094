package remote

import (
	_ "embed"
	"strings"

	"github.com/schedgen/schedgen/internal/words"
)

//go:embed script.sh
var script string

// login is the command for the user's login shell. All shells read it alike.
const login = "exec sh"

// scriptFor returns the input of the shell: the script with its arguments. names are the names of
// the programs with blanks between them, and args their arguments.
func scriptFor(names string, args []string) string {
	var b strings.Builder
	b.WriteString("set -- " + words.Shell(names))
	for _, arg := range args {
		b.WriteString(" " + words.Shell(arg))
	}
	b.WriteString("\n" + script)
	return b.String()
}
