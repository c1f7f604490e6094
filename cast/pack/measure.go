package pack

import (
	"context"
	"os"
)

// Totals is how much there is in a tree.
type Totals struct {
	Entries int64 `json:"entries"` // directories, files and links
	Bytes   int64 `json:"bytes"`   // of files, holes included
}

// Measure counts what Tree would send, and reads no file. It finds entries that cannot be sent, so
// that they are known before anything is sent.
func (o *Origin) Measure(ctx context.Context) (Totals, error) {
	c := &counter{hard: o.options.HardLinks}
	if err := o.walk(ctx, c, true); err != nil {
		return Totals{}, err
	}
	o.counted, o.skippedThen = c.Entries, len(o.skipped)
	return c.Totals, nil
}

// Measure counts what would be sent of a path, and reads no file.
func Measure(ctx context.Context, path string) (Totals, error) { return At(path).Measure(ctx) }

// counter counts what it is told of.
type counter struct {
	Totals
	hard   bool // further names have no bytes
	inodes inodes
}

func (c *counter) enter(*entry, *os.Root) error { c.Entries++; return nil }

func (*counter) leave() error { return nil }

func (c *counter) link(*entry, string) error { c.Entries++; return nil }

func (*counter) omit(string) error { return nil }

func (*counter) settled() bool { return false }

func (c *counter) file(e *entry) error {
	c.Entries++
	if c.hard {
		if _, further := c.inodes.further(e.info); further {
			return nil
		}
		if c.inodes.next(e.info) > 0 {
			c.inodes.add(e.info)
		}
	}
	c.Bytes += e.info.Size()
	return nil
}
