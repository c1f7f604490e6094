package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/version"
)

// programsOfHosts returns the programs that hosts may run: this one, and those for other systems and
// processors that lie beside it, as schedcast-GOOS-GOARCH, if they are of the same release.
func programsOfHosts() (all *remote.Programs, err error) {
	all = &remote.Programs{Args: []string{guestName}}
	release := version.Release(program, version.Build())
	own, err := remote.Self(program, release)
	if err != nil {
		return nil, err
	}
	all.All = append(all.All, own)
	for _, file := range besides() {
		info, ok := version.Read(file)
		if !ok || release == "" || version.Line(program, info) != release {
			continue
		}
		p, err := remote.Other(file, program, release, version.Setting(info, "GOOS"), version.Setting(info, "GOARCH"))
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.All = append(all.All, p)
	}
	return all, nil
}

// besides returns the files that may be programs for other hosts.
func besides() []string {
	own, err := os.Executable()
	if err != nil {
		return nil // remote.Self returns this error
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return nil
	}
	all, err := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(own)), program+"-*-*"))
	if err != nil {
		return nil // never happens: the pattern is valid
	}
	return all
}

// quoteGlob quotes a path for use in a pattern.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
