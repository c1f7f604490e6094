package mpi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
)

// BuildGo builds the engine go with the machine's Go toolchain, from the source of this program. It
// builds nothing if the user's cache has the engine of the same program. command is the path of the
// program. With verbs, the engine has the transport verbs, and needs libibverbs wherever it runs.
// BuildGo returns the path of a shared object for the variable SCHEDGEN_MPI_GO of the library.
func BuildGo(ctx context.Context, cache, command string, verbs bool) (string, error) {
	path, err := pathOfGo(cache, command, verbs)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir := filepath.Dir(path)
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("there is no Go toolchain")
	}
	source, err := sourceOfGo()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	built := filepath.Join(work, "libschedgen-go.so")
	args := []string{"build", "-buildvcs=false", "-buildmode=c-shared", "-o", built}
	if verbs {
		args = append(args, "-tags", "verbs")
	}
	build := exec.CommandContext(ctx, tool, append(args, ".")...)
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		if verbs && lacksVerbs.Match(out) {
			return "", errors.New("the transport verbs needs Debian's libibverbs-dev and librdmacm-dev")
		}
		return "", fmt.Errorf("go build: %w: %s", err, firstLine(out))
	}
	// Several processes may build at once. Each renames its own result.
	return path, os.Rename(built, path)
}

// lacksVerbs matches the output of a build without the headers or libraries of verbs.
var lacksVerbs = regexp.MustCompile(`infiniband/|rdma/rdma_cma\.h|-libverbs|-lrdmacm`)

// FindGo returns the path of the engine go if BuildGo has built it.
func FindGo(cache, command string, verbs bool) (string, error) {
	path, err := pathOfGo(cache, command, verbs)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", err
	}
	return path, nil
}

// pathOfGo returns the path of the engine go of the program at command, whether it exists or not.
func pathOfGo(cache, command string, verbs bool) (string, error) {
	about, err := os.Stat(command)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%v\n%s\n%v", command, about.Size(), about.ModTime(), goruntime.Version(), verbs))
	return filepath.Join(cache, "go-"+hex.EncodeToString(h[:])[:16], "libschedgen-go.so"), nil
}

// sourceOfGo returns the folder of the engine's source, beside the source of this file.
func sourceOfGo() (string, error) {
	_, file, _, _ := goruntime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "goengine")
	if _, err := os.Stat(filepath.Join(dir, "engine.go")); err != nil {
		return "", fmt.Errorf("the source of this program is missing: %w", err)
	}
	return dir, nil
}
