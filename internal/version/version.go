// Package version spells the build of a program.
package version

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"runtime/debug"
	"strings"
)

// Build returns the build information of this program, which is empty if there is none.
func Build() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return new(debug.BuildInfo)
}

// magic begins the build information in a file. See package debug/buildinfo, which reads more forms
// of it, and knows all formats of programs for that.
const magic = "\xff Go buildinf:"

// Read returns the build information of a program in a file. ok is false if there is none.
func Read(path string) (info *debug.BuildInfo, ok bool) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	const header, inline = 32, 2 // bytes, and the flag of strings that follow the header
	for {
		at := bytes.Index(file, []byte(magic))
		if at < 0 || len(file)-at < header {
			return nil, false
		}
		flags := file[at+len(magic)+1]
		file = file[at+header:]
		if flags&inline == 0 {
			continue
		}
		goVersion, rest := cutString(file)
		text, _ := cutString(rest)
		const frame = 16 // bytes before and after the text
		if goVersion == "" || len(text) < 2*frame {
			continue
		}
		if info, err = debug.ParseBuildInfo(text[frame : len(text)-frame]); err == nil {
			info.GoVersion = goVersion
			return info, true
		}
	}
}

// cutString returns the string at the beginning of b, whose length precedes it, and the rest of b.
func cutString(b []byte) (s string, rest []byte) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil
	}
	return string(b[size : size+int(n)]), b[size+int(n):]
}

// Line spells the name of a program and the known parts of its build information: the module's
// version, the revision, its time, whether the source was modified, and the Go version.
func Line(program string, info *debug.BuildInfo) string {
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
	return program + " " + strings.Join(parts, ", ")
}

// Release returns the line if it tells this source from any other, and "" otherwise.
func Release(program string, info *debug.BuildInfo) string {
	line := Line(program, info)
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
