package main

import (
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// versionFlag prints the version in place of running a command.
type versionFlag bool

// BeforeReset is called by kong as soon as the flag is met.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, err := fmt.Fprintln(app.Stdout, versionLine(info))
	app.Exit(exitGood)
	return err
}

// IsBool tells kong that the flag takes no value.
func (versionFlag) IsBool() bool { return true }

// versionLine spells what is known of the binary: the module's version, the
// revision it was built from and the Go version.
func versionLine(info *debug.BuildInfo) string {
	version, revision, modified := "(unknown)", "", ""
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	return "schedgen " + version + revision + modified + " " + info.GoVersion
}
