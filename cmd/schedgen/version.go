package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// versionFlag prints the version in place of running a command.
type versionFlag bool

// BeforeReset prints the version. Kong calls it as soon as it reads the flag.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	_, err := fmt.Fprintln(app.Stdout, versionLine(buildInfo()))
	app.Exit(exitGood)
	return err
}

// IsBool tells kong that the flag takes no value.
func (versionFlag) IsBool() bool { return true }

// buildInfo returns the build information of the binary, which is empty if there is none.
func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

// versionLine spells the known parts of the build information: the module's version, the revision,
// its time, whether the source was modified, and the Go version.
func versionLine(info *debug.BuildInfo) string {
	const none = "(devel)" // the go command's word for no version
	revision := setting(info, "vcs.revision")
	var parts []string
	if version := cmp.Or(info.Main.Version, none); version != none || revision == "" {
		parts = append(parts, version)
	}
	if revision != "" {
		parts = append(parts, "revision "+revision)
	}
	if time := setting(info, "vcs.time"); time != "" {
		parts = append(parts, time)
	}
	if setting(info, "vcs.modified") == "true" {
		parts = append(parts, "modified")
	}
	if info.GoVersion != "" {
		parts = append(parts, info.GoVersion)
	}
	return "schedgen " + strings.Join(parts, ", ")
}

// setting returns a setting of the build, or "" if it is unknown.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
