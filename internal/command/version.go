package command

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/version"
)

// versionFlag prints the version in place of running a command.
type versionFlag bool

// BeforeReset prints the version. Kong calls it as soon as it reads the flag.
func (versionFlag) BeforeReset(app *kong.Kong, p *Program) error {
	_, err := fmt.Fprintln(app.Stdout, version.Line(p.Name, version.Build()))
	app.Exit(terminal.Good)
	return err
}

// IsBool tells kong that the flag takes no value.
func (versionFlag) IsBool() bool { return true }
