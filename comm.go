package schedgen

import (
	"context"
	"iter"
	"reflect"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Comm is a communicator: one rank's end of a group of ranks that do collectives together. Every
// rank must call the same collectives in the same order, one at a time. Publish, Next, TryNext,
// Messages and Ask may run at the same time in other goroutines.
type Comm struct {
	under *runtime.Comm

	folding sync.Mutex // guards the fields below
	folds   folds
	scratch []uint64     // of AllreduceExact
	answers reflect.Type // elements of the answers of Answer; nil: it has not been called
}

// Init makes the communicator of all processes that a launcher has started with this one. The
// launchers are mpirun of Open MPI, MPICH or MVAPICH, srun, flux run, PALS, torchrun, and an
// indexed job of Kubernetes. A person can instead set SCHEDGEN_RANK, SCHEDGEN_SIZE and
// SCHEDGEN_COORDINATOR (host:port, the same at all ranks). Without any of these, the process is
// rank 0 of 1.
//
// Init returns when all ranks have called it, when ctx ends, or after five minutes.
// SCHEDGEN_JOIN_TIMEOUT sets another limit, such as 90s, or none. After two seconds Init writes to
// the standard error what it waits for. SCHEDGEN_TRANSPORT chooses the transport, and
// SCHEDGEN_RULES names a file of rules that choose algorithms. SCHEDGEN_LEARN names a file for what
// is learned about them, and SCHEDGEN_NETWORK one with the network of the hosts; see Config. An error
// names the variables at fault.
func Init(ctx context.Context) (*Comm, error) { return Join(ctx, Config{}) }

// Join is [Init] with a configuration. It makes the communicator of the ranks that cfg.Transport
// connects. If cfg.Transport is nil, it makes the one of the ranks that the launcher has started.
// The communicator then owns the transport, even if Join returns an error.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	return wrap(runtime.Join(ctx, cfg.below()))
}

// Wrap returns a communicator on top of c, which moves its bytes. It is for communicators from
// elsewhere, such as package group.
func Wrap(c *runtime.Comm) *Comm { return &Comm{under: c} }

// Runtime returns the communicator of package runtime that moves c's bytes. Packages such as status
// and cast take it. It and c are the same communicator: a rank may use the methods of either.
func (c *Comm) Runtime() *runtime.Comm { return c.under }

// wrap turns the results of functions of package runtime into those of this package.
func wrap(under *runtime.Comm, err error) (*Comm, error) {
	if under == nil || err != nil {
		return nil, public(err)
	}
	return &Comm{under: under}, nil
}

// missing reports whether there is no communicator: c is nil, as Split returns for Undefined, or
// zero.
func (c *Comm) missing() bool { return c == nil || c.under == nil }

// below returns the communicator of package runtime under c. If there is none, it returns an error
// that names method fn.
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

// Err returns why the communicator has failed. It returns nil while the communicator works.
func (c *Comm) Err() error {
	under, err := c.below("Err")
	if err != nil {
		return err
	}
	return public(under.Err())
}

// Close leaves the communicator. It sends all queued data and tells the other ranks. Running calls
// and open requests end with ErrClosed. If there are any, or if others still need this rank, the
// communicator fails at the other ranks with ErrPeerLeft.
//
// Close does not wait for calls of other ranks, nor until they have this rank's published messages:
// Flush does. The last communicator on a transport closes it. It gives up if the transport takes
// nothing for Config.Waiting.Linger. Close may be called more than once.
func (c *Comm) Close() error {
	under, err := c.below("Close")
	if err != nil {
		return err
	}
	return public(under.Close())
}

// Undefined is the color of a rank that joins none of the communicators of a Split. Other negative
// colors mean the same.
const Undefined = runtime.Undefined

// Split makes communicators among the ranks of c, one for each color. Its members are the ranks
// that give the color, in the order of key and, for equal keys, of their ranks in c. Every rank of
// c must call Split, between the same collectives. A rank that gives Undefined takes part and gets
// no communicator: nil, and no error.
//
// The new communicators share the connections of c and have its configuration, except that
// Algorithm.Hosts is 0 unless a communicator has the ranks of c in the same order. Their ranks
// count from 0. Operations of different communicators may run at the same time in different
// goroutines. Each communicator fails by itself. Only a lost rank fails all communicators that it
// is a member of. Close each communicator, in any order. At most 255 made by Split and Dup may be
// open at a process: more are ErrTooMany.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	under, err := c.below("Split")
	if err != nil {
		return nil, err
	}
	next, err := under.Split(ctx, color, key)
	return wrap(next, c.ended("Split", err))
}

// Dup makes a communicator of the same ranks as c. Its operations and messages are independent of
// those of c. Every rank of c must call Dup.
func (c *Comm) Dup(ctx context.Context) (*Comm, error) {
	under, err := c.below("Dup")
	if err != nil {
		return nil, err
	}
	next, err := under.Dup(ctx)
	return wrap(next, c.ended("Dup", err))
}

// Shrink returns a communicator of the remaining ranks of c, in their order. It is the way to go on
// after a [LostError], and after [ErrPeerLeft]: ranks that have closed c do not remain either. All
// remaining ranks must call it. If c has not failed yet, it fails at all of them. When Shrink
// returns without an error, c is closed: later calls fail with [ErrClosed]. If a rank is lost
// later, the new communicator fails and can be shrunk in turn.
//
// If Config.Quorum forbids the remaining ranks to go on, Shrink fails at all of them with
// [ErrQuorum].
//
// If ctx ends first, only the waiting ends: Shrink can be called again. So keep c until Shrink has
// returned a communicator. The error names the ranks whose calls have not come. A rank hears of
// calls by way of other ranks. So it may know only that one of several ranks is late, or which rank
// will pass on the result. The error of Agree says the same.
//
// A launcher may end all ranks when one dies. Open MPI's mpirun needs --enable-recovery to let the
// others live on; see examples/survive.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	under, err := c.below("Shrink")
	if err != nil {
		return nil, err
	}
	next, err := under.Shrink(ctx)
	return wrap(next, c.ended("Shrink", err))
}

// Agree returns the bitwise and of the flags that all ranks have given. gone lists, ascending, the
// ranks that have taken no part because they are lost or have closed c. Both results are the same
// at every rank that returns without an error. Agree works before and after c has failed. All
// remaining ranks must call Agree and Shrink in the same order. If ctx ends first, only the waiting
// ends: this rank's vote counts, and its next call of Agree waits for the same agreement.
//
// A rank that dies soon after Agree has returned may have had another result than the others. So
// before an act that cannot be undone, such as a payment, call Agree a second time, and act on the
// first result when the second call has returned without an error. The first result is then fixed:
// no rank has acted on another one. The second result only adds the ranks that have gone meanwhile.
func (c *Comm) Agree(ctx context.Context, flags uint32) (agreed uint32, gone []int, err error) {
	under, err := c.below("Agree")
	if err != nil {
		return 0, nil, err
	}
	agreed, gone, err = under.Agree(ctx, flags)
	return agreed, gone, c.ended("Agree", err)
}

// Message is a message that a rank has published.
type Message struct {
	Origin int    // the rank that has published the message
	Seq    uint64 // its number among the origin's messages, from 0
	Data   []byte // the receiver's own
}

// Publish sends msg to all other ranks, which need not expect it. Each rank receives it exactly
// once. The messages of one rank arrive in their order. Messages of different ranks have no order.
// msg may be reused when Publish returns. Publish waits while other ranks have yet to take
// Config.PublishWindow messages or PublishBytes bytes of this rank. Flush waits until messages have
// arrived.
//
// If ctx ends while Publish waits, msg is not sent and the communicator stays intact.
func (c *Comm) Publish(ctx context.Context, msg []byte) error {
	under, err := c.below("Publish")
	if err != nil {
		return err
	}
	return public(under.Publish(ctx, msg))
}

// Flush waits until all messages that this rank has published are at every rank that has not closed
// the communicator. Next returns them there in time. If ctx ends first, only the waiting ends.
func (c *Comm) Flush(ctx context.Context) error {
	under, err := c.below("Flush")
	if err != nil {
		return err
	}
	return public(under.Flush(ctx))
}

// Next waits for a message that another rank has published. If ctx ends first, the communicator
// stays intact. If no message can come any more because other ranks have closed the communicator,
// Next fails with ErrPeerLeft. The communicator then stays intact, too.
func (c *Comm) Next(ctx context.Context) (Message, error) {
	under, err := c.below("Next")
	if err != nil {
		return Message{}, err
	}
	msg, err := under.Next(ctx)
	return Message(msg), public(err)
}

// TryNext returns a published message if there is one. It does not wait. ok reports whether there
// is a message.
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
// The loop ends when ctx ends, when the communicator is closed or fails, or when no message can
// come any more. The last turn of the loop has that error and no message.
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

// Use makes this communicator run s for the collective of s, and for its root if it has one. It
// takes the place of the choice of Config. s is generated code (schedgen emit --format go), or by
// [machine.Of] a schedule from elsewhere. Use proves a schedule of the second kind first. Every
// rank must call Use with the same schedule, between the same collectives. See [runtime.Comm.Use]
// for details.
func (c *Comm) Use(s *machine.Schedule) error {
	under, err := c.below("Use")
	if err != nil {
		return err
	}
	return c.ended("Use", under.Use(s))
}
