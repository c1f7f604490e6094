package schedgen

import (
	"context"
	"iter"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Comm is a communicator: one rank's end of a group of ranks that do collectives together. Every rank
// must call the same collectives in the same order, one at a time; Publish, Next, TryNext and
// Messages may run beside them in other goroutines.
type Comm struct {
	under *runtime.Comm

	folding sync.Mutex // guards what follows
	folds   folds
	scratch []uint64 // of AllreduceExact
}

// Init makes the communicator of all processes that a launcher has started with this one: mpirun of
// Open MPI, MPICH or MVAPICH, srun, flux run, PALS, torchrun, an indexed job of Kubernetes, or a
// person who sets SCHEDGEN_RANK, SCHEDGEN_SIZE and SCHEDGEN_COORDINATOR (host:port, the same at all
// ranks). A process that was started without any of them is rank 0 of 1.
//
// Init returns when all ranks have called it, when ctx ends, or after five minutes, unless
// SCHEDGEN_JOIN_TIMEOUT sets another limit, such as 90s, or none. From two seconds on it says on the
// standard error what it waits for. SCHEDGEN_TRANSPORT chooses the transport, and SCHEDGEN_RULES names
// a file of rules that choose algorithms. An error names the variables at fault.
func Init(ctx context.Context) (*Comm, error) { return Join(ctx, Config{}) }

// Join is [Init] with a configuration. It makes the communicator of the ranks that cfg.Transport
// connects, or, if that is nil, of those that the launcher has started. From then on the transport is
// the communicator's, also if Join returns an error.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	return wrap(runtime.Join(ctx, cfg.below()))
}

// Wrap returns the communicator whose bytes c moves. It is for communicators that others make, such
// as package group.
func Wrap(c *runtime.Comm) *Comm { return &Comm{under: c} }

// Runtime returns the communicator of package runtime that moves c's bytes. Packages such as status and
// cast take it. Its methods and those of c are of one communicator: a rank may use either.
func (c *Comm) Runtime() *runtime.Comm { return c.under }

// wrap turns what functions of package runtime return into what a program gets.
func wrap(under *runtime.Comm, err error) (*Comm, error) {
	if under == nil || err != nil {
		return nil, public(err)
	}
	return &Comm{under: under}, nil
}

// missing reports whether there is no communicator: c is nil, as Split returns for Undefined, or zero.
func (c *Comm) missing() bool { return c == nil || c.under == nil }

// below returns what moves the bytes of c, for method fn, and an error if there is no communicator.
func (c *Comm) below(fn string) (*runtime.Comm, error) {
	if c.missing() {
		return nil, c.wrong(fn, "the communicator is nil")
	}
	return c.under, nil
}

// Rank returns this process's number, 0 … Size-1.
func (c *Comm) Rank() int { return c.under.Rank() }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.under.Size() }

// Err returns why the communicator has failed, nil while it works.
func (c *Comm) Err() error {
	under, err := c.below("Err")
	if err != nil {
		return err
	}
	return public(under.Err())
}

// Close leaves the communicator. What is still to be sent is sent, and the other ranks are told. Calls
// that are running and requests that are open end with ErrClosed. If there are any, or if others
// still need this rank, the communicator fails at the other ranks with ErrPeerLeft.
//
// Close does not wait for calls of other ranks, nor until they have what this rank has published:
// Flush does. The last communicator of those that share a transport closes it, and waits for no longer
// than Config.Waiting.Linger while nothing of what is sent is taken. Close may be called more than once.
func (c *Comm) Close() error {
	under, err := c.below("Close")
	if err != nil {
		return err
	}
	return public(under.Close())
}

// Undefined is the color of a rank that becomes no member of any communicator of a Split. Other
// negative colors mean the same.
const Undefined = runtime.Undefined

// Split makes communicators among the ranks of c: one for each color, of the ranks that give that
// color, in the order of key and, where keys are equal, of their ranks in c. Every rank of c must call
// it, between the same collectives. A rank that gives Undefined takes part and gets no communicator:
// nil, and no error.
//
// The new communicators share the connections of c and have its configuration. Their ranks count from
// 0. Operations of different communicators may run at the same time in different goroutines. Each
// communicator fails by itself, except that a rank that is lost fails all that it is a member of.
// Close each of them, in any order. At most 255 made by Split may be open at a process: ErrTooMany.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	under, err := c.below("Split")
	if err != nil {
		return nil, err
	}
	return wrap(under.Split(ctx, color, key))
}

// Dup makes a communicator of the same ranks as c, whose operations and messages are apart from those
// of c. Every rank of c must call it.
func (c *Comm) Dup(ctx context.Context) (*Comm, error) {
	under, err := c.below("Dup")
	if err != nil {
		return nil, err
	}
	return wrap(under.Dup(ctx))
}

// Shrink returns a communicator of the ranks of c that are left, in their order: what remains to be
// done after a [LostError]. All ranks that are left must call it. c fails at all of them if it has not
// yet, and is closed when Shrink returns without an error. A rank that is lost later fails the new
// communicator, which can be shrunk in turn. The end of ctx ends the waiting alone: Shrink can be
// called again.
//
// A launcher may end all ranks when one dies. Open MPI's mpirun needs --enable-recovery to let the
// others live on; see examples/survive.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	under, err := c.below("Shrink")
	if err != nil {
		return nil, err
	}
	return wrap(under.Shrink(ctx))
}

// Agree returns the flags that all ranks have given: the bitwise and. gone are the ranks that have
// taken no part because they are lost or have closed c, ascending. Both are the same at every rank
// that returns without an error. Agree works while c does and after c has failed. All ranks that are
// left must call Agree and Shrink in the same order. The end of ctx ends the waiting alone: this
// rank's vote counts, and its next call of Agree waits for the same agreement.
func (c *Comm) Agree(ctx context.Context, flags uint32) (agreed uint32, gone []int, err error) {
	under, err := c.below("Agree")
	if err != nil {
		return 0, nil, err
	}
	agreed, gone, err = under.Agree(ctx, flags)
	return agreed, gone, public(err)
}

// Message is a message that a rank has published.
type Message struct {
	Origin int    // the rank that has published it
	Seq    uint64 // its number among the origin's messages, from 0
	Data   []byte // the receiver's own
}

// Publish sends msg to all other ranks, which need not expect it. Each receives it exactly once, and
// the messages of one rank in their order; between ranks there is no order. msg may be reused when
// Publish returns. Publish waits while Config.CastWindow messages or CastBytes bytes of this rank have
// not been taken everywhere. Flush waits until messages are there.
//
// The end of ctx while Publish waits leaves the communicator intact: msg is not sent.
func (c *Comm) Publish(ctx context.Context, msg []byte) error {
	under, err := c.below("Publish")
	if err != nil {
		return err
	}
	return public(under.Publish(ctx, msg))
}

// Flush waits until all messages that this rank has published are at every rank that has not closed
// the communicator, where Next returns them in time. The end of ctx ends the waiting alone.
func (c *Comm) Flush(ctx context.Context) error {
	under, err := c.below("Flush")
	if err != nil {
		return err
	}
	return public(under.Flush(ctx))
}

// Next waits for a message that another rank has published. The end of ctx leaves the communicator
// intact. When no message can come any more because other ranks have closed the communicator, Next
// fails with ErrPeerLeft, which leaves the communicator intact, too.
func (c *Comm) Next(ctx context.Context) (Message, error) {
	under, err := c.below("Next")
	if err != nil {
		return Message{}, err
	}
	msg, err := under.Next(ctx)
	return Message(msg), public(err)
}

// TryNext returns a published message if there is one, without waiting; ok tells.
func (c *Comm) TryNext() (msg Message, ok bool, err error) {
	under, err := c.below("TryNext")
	if err != nil {
		return Message{}, false, err
	}
	m, ok, err := under.TryNext()
	return Message(m), ok, public(err)
}

// Messages returns the published messages as they come, in a loop such as
//
//	for msg, err := range comm.Messages(ctx) { … }
//
// until ctx ends, the communicator is closed or fails, or no message can come any more. The last turn
// of the loop has that error and no message.
func (c *Comm) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			msg, err := c.Next(ctx)
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}

// Use makes s what this communicator runs for the collective of s, and for its root if it has one,
// in place of what Config says. s is generated code (schedgen emit --format go), or a schedule of any
// other origin by [machine.Of]; Use proves the latter first. Every rank must call it with the same
// schedule, between the same collectives. [runtime.Comm.Use] says more.
func (c *Comm) Use(s *machine.Schedule) error {
	under, err := c.below("Use")
	if err != nil {
		return err
	}
	return public(under.Use(s))
}
