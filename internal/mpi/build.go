package mpi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/schedule/selection"
)

// Library is a compiled library that can be loaded.
type Library struct {
	Path   string // of the shared object
	Tables string // folder of the files of tables
}

// TablesOf returns the path of the file of tables for a number of ranks.
func (l *Library) TablesOf(ranks int) string {
	return filepath.Join(l.Tables, fmt.Sprintf("%d.tables", ranks))
}

// Build compiles the library with the machine's C compiler, unless the user's cache has it already
// for the same sources, compiler and command. command is the path of schedgen, which the library
// runs to make tables. cc is the compiler; by default the first found of cc, gcc and clang.
func Build(ctx context.Context, cache, cc, command string) (*Library, error) {
	cc, err := findCompiler(cc)
	if err != nil {
		return nil, err
	}
	about, err := exec.CommandContext(ctx, cc, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", cc, err)
	}
	files, err := sources()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(files[name]), files[name])
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n%v", cc, about, command, Choices())
	dir := filepath.Join(cache, hex.EncodeToString(h.Sum(nil))[:16])
	l := &Library{Path: filepath.Join(dir, "libschedgen.so"), Tables: filepath.Join(dir, "tables")}
	if _, err := os.Stat(l.Path); err == nil {
		return l, nil
	}
	if err := os.MkdirAll(l.Tables, 0o777); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), text, 0o666); err != nil {
			return nil, err
		}
	}
	// The library is loaded with the program, so its thread-local variables may be found without a
	// call.
	compile := exec.CommandContext(ctx, cc, "-std=gnu11", "-O2", "-fvisibility=hidden", "-shared", "-fPIC", "-ftls-model=initial-exec",
		"-DSCHEDGEN_TABLES="+literal(l.Tables), "-DSCHEDGEN_COMMAND="+literal(command), "-DSCHEDGEN_CHOICES="+choicesInC(), "-o", "libschedgen.so", "library.c", "-ldl", "-lpthread")
	compile.Dir = work
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cc, err, firstLine(out))
	}
	// Several processes may build at once. Each renames its own result.
	return l, os.Rename(filepath.Join(work, "libschedgen.so"), l.Path)
}

// choicesInC returns, for the rules of engine auto where nothing was measured, the elements of an
// array in C: operation, least length and greatest number of ranks.
func choicesInC() string {
	var b strings.Builder
	for _, c := range Choices() {
		fmt.Fprintf(&b, "{%d,%d,%d},", c.Operation, c.Least, c.Auto)
	}
	return b.String()
}

// findCompiler returns the path of a C compiler.
func findCompiler(cc string) (string, error) {
	names := []string{"cc", "gcc", "clang"}
	if cc != "" {
		names = []string{cc}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no C compiler (%s)", strings.Join(names, ", "))
}

// literal returns a text as a C string literal.
func literal(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// By returns l with tables that follow rules. They are in a folder of their own.
func (l *Library) By(rules *selection.Rules) (*Library, error) {
	if rules.Digest() == 0 { // the built-in ones
		return l, nil
	}
	dir := filepath.Join(l.Tables, fmt.Sprintf("rules-%016x", rules.Digest()))
	return &Library{Path: l.Path, Tables: dir}, os.MkdirAll(dir, 0o777)
}

// WriteTables writes the file of tables for a number of ranks: see [Tables]. The file appears whole
// or not at all.
func WriteTables(path string, ranks int, rules *selection.Rules) ([]Note, error) {
	words, notes, err := Tables(ranks, rules)
	if err != nil {
		return nil, err
	}
	return notes, writeWhole(path, words)
}

func writeWhole(path string, words []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "tables")
	if err != nil {
		return err
	}
	_, err = f.Write(words)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
