package cli

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/version"
)

// receiverName is the file name of the small receiver, cmd/schedgen-receive. The name of a receiver
// for another system or processor has the suffix -GOOS-GOARCH.
const receiverName = "schedgen-receive"

// programs returns the programs that hosts may run: the small receivers that exist, and this
// program.
func (s *castStart) programs() (all *remote.Programs, err error) {
	all = &remote.Programs{Args: []string{"guest"}}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	release := version.Release(command.BuildInfo())
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

// besides returns the receivers in this program's directory that are of the same release. Without a
// release there are none.
func besides(release string) (files []string) {
	if release == "" {
		return nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil // remote.Self returns this error
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return nil
	}
	all, err := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(own)), receiverName+"*"))
	if err != nil {
		return nil // never happens: the pattern is valid
	}
	for _, file := range all {
		if info, err := buildinfo.ReadFile(file); err == nil && version.Line(info) == release {
			files = append(files, file)
		}
	}
	return files
}

// quoteGlob quotes a path for use in a pattern.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
