package pack

import (
	"context"
	"os"
)

// Totals holds the number of entries and bytes in a tree.
type Totals struct {
	Entries int64 `json:"entries"` // directories, files and links
	Bytes   int64 `json:"bytes"`   // of files, holes included
}

// Measure counts the entries and bytes that Tree would send. It reads no file. It calls
// Options.Skip for entries that cannot be sent, so that the caller knows them before anything is
// sent.
func (o *Origin) Measure(ctx context.Context) (Totals, error) {
	c := &counter{hard: o.options.HardLinks}
	if err := o.walk(ctx, c, true); err != nil {
		return Totals{}, err
	}
	o.counted, o.skippedThen = c.Entries, len(o.skipped)
	return c.Totals, nil
}

// Measure counts the entries and bytes that At(path) would send. It reads no file.
func Measure(ctx context.Context, path string) (Totals, error) { return At(path).Measure(ctx) }

// counter is a visitor that counts entries and bytes.
type counter struct {
	Totals
	hard   bool // hard links count without bytes
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
