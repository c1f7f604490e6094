// Package segment is the shared memory of packages shm and hybrid. A put is one copy into a ring at
// the receiver and one copy from there directly to its destination. A multicast is one copy into a
// ring that all receivers read. The system copies a lent chunk once. Otherwise only parking and
// waking need system calls.
//
// # What is shared
//
// The segment has an area for each rank (layout.go), which contains
//
//   - the rank's state and process, which the others watch;
//   - its bell: a bit for each peer that has something for it, and the word on which it parks, in
//     one cache line;
//   - for each peer that sends to it and each lane, a ring of cells, which are cache lines for a
//     frame's header and a short body, and a ring of bytes;
//   - for its multicasts, a ring of cells and bytes, and the others' positions in it;
//   - its window ([wire.Windows], [wire.Shelves]): cache lines with the flags of others, and with
//     flags and short chunks that it has written for several readers. Beside them stand the number
//     of ranks that have yet to copy a lent chunk, how far the rank has come, and the data that
//     others need to read its process's memory.
//
// Room for the rings of further communicators (further.go) and for their windows (set.go) follows
// the areas. It takes memory only when it is used.
//
// So each flag has a cache line of its own at the rank that waits for it, and a signal writes one
// line there (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, sections 4.1 and 4.2).
//
// # Memory ordering
//
// Shared words are read and written by package sync/atomic only, whose operations are sequentially
// consistent, also between processes. Everything else in the segment (bodies, headers) is written
// before an atomic store that announces it, and read after the load that sees that store. Sometimes
// two ranks each write one word and then read the other's word. For example, one rank rings the
// bell and then checks whether the other is parked, while the other parks and then checks the bell.
// Since atomics are sequentially consistent, at least one of the two sees the other's write.
//
// # Trust
//
// Each side counts its own positions. A number from the segment only chooses among the cells of a
// ring. Lengths and kinds are copied out once and checked. So nonsense in the segment makes the
// communicator fail, not the process. Only processes of the same user can map the segment. Ranks
// notice a process that ends without a goodbye. For this they must see each other's processes:
// containers need one process namespace.
package segment

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Options are the options of shm.Config; see there.
type Options struct {
	Rank, Size int
	File       *os.File
	Name       string
	Dir        string
	Clock      clock.Clock
}

// Config says how a rank finds the other ranks.
type Config struct {
	Options
	// Kick wakes a rank that waits elsewhere, between [Transport.Away] and [Transport.Back]. Put,
	// Mcast, Poll and Close call it. It may be nil if no rank waits elsewhere.
	Kick func(rank int)
}

// MaxSize is the greatest number of ranks.
const MaxSize = 256

// MaxBody is [wire.MaxBody].
const MaxBody = wire.MaxBody

const maxName = 200

// fill checks c and puts the defaults in.
func (c *Config) fill() error {
	switch {
	case c.Size < 1 || c.Size > MaxSize:
		return fmt.Errorf("size %d is not in 1 … %d", c.Size, MaxSize)
	case c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rank %d is not in 0 … %d", c.Rank, c.Size-1)
	case c.File != nil && (c.Name != "" || c.Dir != ""):
		return errors.New("both a file and a name are given: only one is allowed")
	case c.File == nil && c.Name == "":
		return errors.New("neither a file nor a name is given")
	case strings.ContainsAny(c.Name, "/\x00") || len(c.Name) > maxName:
		return fmt.Errorf("name %q: must have at most %d bytes and no slash", c.Name, maxName)
	}
	c.Clock = clock.OrSystem(c.Clock)
	if c.Dir == "" {
		c.Dir = "/dev/shm"
	}
	return nil
}
