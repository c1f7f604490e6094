package complete

import (
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

//go:embed scripts
var scripts embed.FS

// Shells returns the names of the shells that have a script.
func Shells() []string {
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		return nil // never happens: the scripts are part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(path.Ext(e.Name()), "."))
	}
	return names
}

// WriteScript prints the script that makes a shell complete the command lines of a program. It
// returns an error if the shell has none.
func WriteScript(out io.Writer, shell, program string) error {
	text, err := scripts.ReadFile("scripts/schedgen." + shell)
	if err != nil {
		return fmt.Errorf("no completion for %q; there is one for %s", shell, strings.Join(Shells(), ", "))
	}
	_, err = io.WriteString(out, strings.ReplaceAll(string(text), "schedgen", program))
	return err
}

// Help returns the long help text of the verb that prints the scripts of a program.
func Help(program string) string {
	return strings.ReplaceAll(`The script asks ${program} itself how a command line may continue, so a new version needs no new
script. To install it for all your shells, run once:

  ${program} completion bash \
    > ~/.local/share/bash-completion/completions/${program}
  ${program} completion fish > ~/.config/fish/completions/${program}.fish

For zsh, write it to a directory of $fpath, before compinit is called:

  ${program} completion zsh > ~/.zfunc/_${program}

To use it in the running shell, bash or zsh: eval "$(${program} completion bash)".`, "${program}", program)
}
