package debian

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Libraries returns the files that the dynamic linker loads for program. It searches below root
// first, and then on the host. It returns none for a statically linked program or a file that is
// not ELF, such as a script. It returns an error if a library is missing.
func Libraries(ctx context.Context, root, program string) ([]string, error) {
	dynamic, err := isDynamic(program)
	if err != nil || !dynamic {
		return nil, err
	}
	path := strings.Join([]string{
		filepath.Join(root, "usr/lib/x86_64-linux-gnu"), filepath.Join(root, "lib/x86_64-linux-gnu"),
	}, ":")
	out, err := output(ctx, "", []string{"LD_LIBRARY_PATH=" + path}, "ldd", program)
	if err != nil {
		return nil, err
	}
	files, err := parseLdd(out)
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	return files, nil
}

// isDynamic reports whether file is an ELF file that needs shared libraries.
func isDynamic(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read
	magic := make([]byte, len(elf.ELFMAG))
	if n, err := io.ReadFull(f, magic); n < len(magic) || string(magic) != elf.ELFMAG {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil
		}
		return false, err
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	needed, err := e.DynString(elf.DT_NEEDED)
	return len(needed) > 0, err
}

// parseLdd returns the files in the output of ldd. The lines of the dynamic linker, and of the
// library that the kernel provides, have no arrow. The latter is not a file.
func parseLdd(text []byte) ([]string, error) {
	var files []string
	for line := range bytes.Lines(text) {
		name, found, arrow := strings.Cut(strings.TrimSpace(string(line)), " => ")
		if !arrow {
			found = name
		}
		if found == "not found" {
			return nil, fmt.Errorf("%s is not here", name)
		}
		file, _, _ := strings.Cut(found, " (")
		if filepath.IsAbs(file) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("names no file: %q", text)
	}
	return files, nil
}
