package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/internal/version"
)

// receiverName is the file's name of the small receiver, cmd/schedgen-receive. One for another
// system or processor has -GOOS-GOARCH behind it.
const receiverName = "schedgen-receive"

// programs returns what hosts may run: a receiver, if there is one, and this program.
func (s *castStart) programs() (all *remote.Programs, err error) {
	all = &remote.Programs{Args: []string{"guest"}}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	release := version.Release(buildInfo())
	files := besides(release)
	if s.Receiver != "" {
		files = []string{s.Receiver}
	}
	for _, file := range files {
		p, err := remote.ReadProgram(file, receiverName, release)
		if err != nil {
			return all, fmt.Errorf("--receiver=%s: %w", file, err)
		}
		all.All = append(all.All, p)
	}
	own, err := remote.Self("schedgen", release)
	if err != nil {
		return all, err
	}
	all.All = append(all.All, own)
	return all, nil
}

// besides returns the receivers beside this program that are the same build, which a release alone
// tells.
func besides(release string) (files []string) {
	if release == "" {
		return nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil // remote.Self says so
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return nil
	}
	all, err := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(own)), receiverName+"*"))
	if err != nil {
		return nil // there is no bad pattern
	}
	for _, file := range all {
		if info, err := buildinfo.ReadFile(file); err == nil && version.Line(info) == release {
			files = append(files, file)
		}
	}
	return files
}

// quoteGlob spells a path so that a pattern matches it as it is.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
