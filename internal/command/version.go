package command

import (
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/version"
)

// versionFlag prints the version in place of running a command.
type versionFlag bool

// BeforeReset prints the version. Kong calls it as soon as it reads the flag.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	_, err := fmt.Fprintln(app.Stdout, version.Line(BuildInfo()))
	app.Exit(Good)
	return err
}

// IsBool tells kong that the flag takes no value.
func (versionFlag) IsBool() bool { return true }

// BuildInfo returns the build information of the binary, which is empty if there is none.
func BuildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}
