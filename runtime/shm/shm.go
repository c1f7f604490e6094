// Package shm is the transport between the processes of one host, over memory that they share. A
// put is one copy into a ring at the receiver and one copy from there directly to its destination.
// A multicast is one copy into a ring that all receivers read. The system copies a long chunk once,
// from the sender's memory, if it allows that ([Transport.Copies]). Otherwise only parking and
// waking need system calls.
//
// Package shm works on Linux; elsewhere [Join] returns an error.
//
// Ranks notice when a process ends without a goodbye. For this they must see each other's
// processes: containers need a common process namespace. Only processes of the same user can map
// the memory. If one of them writes nonsense into it, the communicator fails, but not the process.
package shm

import (
	"context"
	"os"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/segment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config says how a rank finds the other ranks.
type Config struct {
	Rank, Size int // of this process: 0 ≤ Rank < Size

	// File is a segment made by [Create] for Size ranks, which a parent process hands down to its
	// children, for example. Join does not close it.
	File *os.File
	// Name, if File is nil, is a name that only the ranks of one communicator on this host have.
	// Rank 0 makes the file "schedgen-" + Name, which is removed as soon as all ranks have come.
	Name string
	// Dir is the directory of that file; empty means /dev/shm.
	Dir string

	// Clock is the transport's clock; nil means the system's. Wait always parks by the system's
	// clock.
	Clock clock.Clock
}

// MaxSize is the greatest number of ranks.
const MaxSize = segment.MaxSize

// MaxBody is the greatest length in bytes of the body of a frame.
const MaxBody = segment.MaxBody

// Transport is one rank's end of a communicator.
type Transport struct{ wire.Transport }

// Copies implements [wire.Copier]: a long chunk is copied once, out of the sender's memory, or
// twice, for the reason that Copies returns.
func (t *Transport) Copies() (n int, why error) { return t.Transport.(wire.Copier).Copies() }

// Create makes an unnamed segment for size ranks: processes inherit the file and give it to [Join]
// in Config.File. Nothing is left of it when the last of them has ended. It takes at most 68 MiB of
// memory for up to 32 ranks, and more only with several communicators.
func Create(size int) (*os.File, error) { return segment.Create(size) }

// Join connects this rank with the others of the host and returns when all have come. If the
// segment has a name, the name is removed by then or shortly afterwards.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := segment.Join(ctx, segment.Config{Options: segment.Options(cfg)})
	if err != nil {
		return nil, err
	}
	return &Transport{t}, nil
}
