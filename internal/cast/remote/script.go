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

// scriptFor returns the input of the shell: the script with its arguments, the name of the programs
// and their arguments.
func scriptFor(name string, args []string) string {
	var b strings.Builder
	b.WriteString("set -- " + words.Shell(name))
	for _, arg := range args {
		b.WriteString(" " + words.Shell(arg))
	}
	b.WriteString("\n" + script)
	return b.String()
}
