// Package shm is the transport between the processes of one host, over memory
// that they share. A put is one copy into a ring at the receiver and one copy
// out of it, straight to where it belongs; a multicast is copied in once and
// read by all from there. Nothing but parking and waking enters the system.
//
// It works on Linux; elsewhere [Join] says that it does not.
//
// A rank whose process ends without a goodbye is noticed, for which the ranks
// must see each other's processes: containers need one process namespace. Only who
// runs under the same user can map the memory; if anything writes nonsense to it
// the communicator fails, not the process.
package shm

import (
	"context"
	"os"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/memory"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config says how a rank finds the others.
type Config struct {
	Rank, Size int

	// File is a segment made by [Create] for Size ranks, such as a parent
	// process hands down to its children. Join does not close it.
	File *os.File
	// Name, where there is no File, is what the ranks of one communicator
	// have in common on this host and others have not. Rank 0 makes a file of
	// that name, which is gone as soon as all ranks have come.
	Name string
	// Dir is where that file is made; empty means /dev/shm.
	Dir string

	// Clock is where the transport reads the time; nil means the system's. How long
	// Wait parks is by the system's in any case.
	Clock clock.Clock
}

// MaxSize is the largest number of ranks.
const MaxSize = memory.MaxSize

// MaxBody is the largest body, in bytes, that a frame can carry.
const MaxBody = memory.MaxBody

// Transport is one rank's end of a communicator.
type Transport struct{ wire.Transport }

// Copies tells how often a long chunk is copied: once, out of its rank's memory, or twice, and
// why.
func (t *Transport) Copies() (n int, why error) { return t.Transport.(wire.Copier).Copies() }

// RingsFaster reports whether on this machine broadcasts of long messages through memory go by a ring that
// all ranks read: the system copies from one process to another much more slowly than a process
// copies by itself, or refuses to. It tries that once, for some 100 µs. Who makes a segment does so for all its
// ranks.
func RingsFaster() bool { return memory.RingsFaster() }

// Create makes a segment for size ranks that has no name: processes inherit
// the file and give it to [Join] in Config.File. When the last of them has ended
// nothing is left of it. It takes at most 68 MiB of memory up to 32 ranks, and
// more only when there is more than one communicator.
func Create(size int) (*os.File, error) { return memory.Create(size) }

// Join connects this rank with the others of the host and returns when all
// have come. The segment's name, if it had one, is gone by then, or will be in
// a moment.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := memory.Join(ctx, memory.Config{Options: memory.Options(cfg)})
	if err != nil {
		return nil, err
	}
	return &Transport{t}, nil
}
