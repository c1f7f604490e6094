// Package version spells the build of a program.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Line spells the known parts of the build information: the module's version, the revision, its
// time, whether the source was modified, and the Go version. All programs of one build have the
// same line.
func Line(info *debug.BuildInfo) string {
	const none = "(devel)" // the go command's word for no version
	revision := Setting(info, "vcs.revision")
	var parts []string
	if version := cmp.Or(info.Main.Version, none); version != none || revision == "" {
		parts = append(parts, version)
	}
	if revision != "" {
		parts = append(parts, "revision "+revision)
	}
	if time := Setting(info, "vcs.time"); time != "" {
		parts = append(parts, time)
	}
	if Setting(info, "vcs.modified") == "true" {
		parts = append(parts, "modified")
	}
	if info.GoVersion != "" {
		parts = append(parts, info.GoVersion)
	}
	return "schedgen " + strings.Join(parts, ", ")
}

// Release returns the line if it tells this source from any other, and "" otherwise.
func Release(info *debug.BuildInfo) string {
	line := Line(info)
	for _, word := range []string{"(devel)", "modified", "dirty"} {
		if strings.Contains(line, word) {
			return ""
		}
	}
	return line
}

// Setting returns a setting of the build, or "" if it is unknown.
func Setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
