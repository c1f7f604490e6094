package command

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/version"
)

// versionFlag prints the version in place of running a command.
type versionFlag bool

// BeforeReset prints the version. Kong calls it as soon as it reads the flag.
func (versionFlag) BeforeReset(app *kong.Kong, p *Program) error {
	err := p.printVersion(app.Stdout)
	app.Exit(terminal.Good)
	return err
}

func (p *Program) printVersion(to io.Writer) error {
	_, err := fmt.Fprintln(to, version.Line(p.Name, version.Build()))
	return err
}

// IsBool tells kong that the flag takes no value.
func (versionFlag) IsBool() bool { return true }
