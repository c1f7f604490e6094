//go:build linux

package guests

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// console takes the output of a guest's kernel and of qemu, and keeps its end.
type console struct {
	show io.Writer // nil: not shown

	mu   sync.Mutex
	kept []byte
}

// consoleKept is the number of bytes that a console keeps, enough for panicked. consoleShown is the
// number of them in an error.
const (
	consoleKept  = 1 << 14
	consoleShown = 1 << 12
)

func (c *console) Write(data []byte) (int, error) {
	c.mu.Lock()
	c.kept = append(c.kept, data...)
	if extra := len(c.kept) - consoleKept; extra > 0 {
		c.kept = append(c.kept[:0], c.kept[extra:]...)
	}
	c.mu.Unlock()
	if c.show != nil {
		if _, err := c.show.Write(bytes.ReplaceAll(data, []byte("\r"), nil)); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// String returns the end of the guest's output, for an error.
func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.TrimSpace(strings.ReplaceAll(string(c.kept), "\r", ""))
	if text == "" {
		return "its console has said nothing"
	}
	if extra := len(text) - consoleShown; extra > 0 {
		_, text, _ = strings.Cut(text[extra:], "\n")
	}
	return "its console has said last:\n" + text
}

// panicked reports whether the kernel has panicked.
func (c *console) panicked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.kept, []byte("Kernel panic"))
}
