package debian

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// moduleFiles returns the file of each module below dir, by the name of the module.
func moduleFiles(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(d.Name(), ".ko") {
			files[moduleName(file)] = file
		}
		return err
	})
	return files, err
}

// moduleName returns the name of the module in file. The name of the file may have a hyphen in
// place of an underscore.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// builtin returns the names of modules that are built into the kernel, as listed in
// modules.builtin.
func builtin(list []byte) map[string]bool {
	names := map[string]bool{}
	for line := range bytes.Lines(list) {
		names[moduleName(strings.TrimSpace(string(line)))] = true
	}
	return names
}

// needs returns the modules that must be loaded before the module in object, as the module itself
// tells.
func needs(object []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	var names []string
	for field := range bytes.SplitSeq(info, []byte{0}) {
		list, ok := bytes.CutPrefix(field, []byte("depends="))
		if !ok || len(list) == 0 {
			continue
		}
		for name := range strings.SplitSeq(string(list), ",") {
			names = append(names, strings.ReplaceAll(name, "-", "_"))
		}
	}
	return names, nil
}

// module is one module of a kernel.
type module struct {
	name   string
	object []byte
}

// loader sorts modules into an order in which they can be loaded.
type loader struct {
	files  map[string]string
	inside map[string]bool
	read   func(file string) ([]byte, error)
	state  map[string]int // state of visit, by module
	order  []module
}

// load returns the modules called names and all modules that they need, each after the modules that
// it needs. It leaves out modules that are built into the kernel.
func (l *loader) load(names []string) ([]module, error) {
	l.state, l.order = map[string]int{}, nil
	for _, name := range names {
		if err := l.visit(name); err != nil {
			return nil, err
		}
	}
	return l.order, nil
}

func (l *loader) visit(name string) error {
	const visiting, done = 1, 2
	switch {
	case l.state[name] == done || l.inside[name]:
		return nil
	case l.state[name] == visiting:
		return fmt.Errorf("module %s needs itself", name)
	case l.files[name] == "":
		return fmt.Errorf("the kernel has no module %s", name)
	}
	l.state[name] = visiting
	object, err := l.read(l.files[name])
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	before, err := needs(object)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, other := range before {
		if err := l.visit(other); err != nil {
			return fmt.Errorf("%w, which %s needs", err, name)
		}
	}
	l.state[name] = done
	l.order = append(l.order, module{name, object})
	return nil
}

// readModule returns the uncompressed module in file.
func readModule(ctx context.Context, file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil || strings.HasSuffix(file, ".ko") {
		return data, err
	}
	var plain bytes.Buffer
	err = decompress(ctx, data, &plain)
	return plain.Bytes(), err
}
