// Command goengine is package runtime as a library for C. It is built as a shared object, joins the
// ranks of an MPI communicator, and performs collectives among them. The library of package mpi
// opens it.
//
//	go build -buildmode=c-shared -o libschedgen-go.so github.com/schedgen/schedgen/internal/mpi/goengine
//
// Each communicator has its own connections and its own memory, so threads that use different
// communicators do not contend here. Folds, which may be functions of the program, run on the
// calling thread.
package main

/*
#include "call.h"

static void sg_go_progress(void (*progress)(void *), void *with) { progress(with); }

static int sg_go_stop(int (*stop)(void *), void *with) { return stop(with); }

static void sg_go_fold(struct sg_go_call *c, void *dst, void *left, void *right, size_t bytes)
{
	c->fold(c->with, dst, left, right, bytes);
}
*/
import "C"

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	goruntime "runtime"

	"github.com/schedgen/schedgen/internal/mpi"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule/selection"
)

func main() {}

// communicator is a communicator of the library.
type communicator struct {
	comm  *runtime.Comm
	rules *selection.Rules     // of SCHEDGEN_RULES, or the built-in ones
	fold  runtime.Fold         // of the running call
	call  *C.struct_sg_go_call // the running call

	requests requests
	rootless *rootless // set by opened
}

// comms holds the communicators by number, and listeners where rank 0 of a new communicator
// listens.
var (
	lock      sync.Mutex
	comms     [2 * maxOpen]*communicator
	listeners = make(map[string]net.Listener) // keyed by the answer of sg_go_listen
)

// sg_go_join returns these instead of a number. The library in C has the same constants.
const (
	joinFailed  = -1
	joinStopped = -2
)

// maxOpen is the largest number of communicators that serve collectives. As many more may be opened
// by schedgen_open; their numbers begin at maxOpen.
const maxOpen = 64

// complain writes err to the standard error.
func complain(err error) { fmt.Fprintln(os.Stderr, "schedgen:", err) }

// copyText copies s to C memory with room for n bytes, and reports whether it fits.
func copyText(s string, to *C.char, n C.int) bool {
	room := unsafe.Slice((*byte)(unsafe.Pointer(to)), int(n))
	if len(s) >= len(room) {
		return false
	}
	copy(room, s)
	room[len(s)] = 0
	return true
}

// sg_go_listen makes rank 0 of a communicator listen for the others. It fills the buffer to with
// its addresses and a word that identifies the communicator, by which the others find it. together
// says that all ranks are on this host. It returns 0, or -1 after it has reported the error.
//
//export sg_go_listen
func sg_go_listen(together C.int, network *C.char, to *C.char, n C.int) C.int {
	host, addresses := "127.0.0.1", "127.0.0.1"
	if together == 0 {
		all, err := addressesOf(C.GoString(network))
		if err != nil {
			complain(err)
			return -1
		}
		host, addresses = "", strings.Join(all, ",")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		complain(err)
		return -1
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	where := net.JoinHostPort(addresses, port) + " " + rand.Text()
	if !copyText(where, to, n) {
		_ = l.Close() // no other rank knows of it
		complain(fmt.Errorf("this host has too many addresses: %s", addresses))
		return -1
	}
	lock.Lock()
	defer lock.Unlock()
	listeners[where] = l
	return 0
}

// sg_go_join creates a communicator of size ranks, which meet where rank 0 listens. It returns the
// communicator's number, or joinFailed or joinStopped. While a call of the communicator waits, it
// calls progress. threads says that several threads may call at once, and open that the communicator
// is one of schedgen_open. While it joins, sg_go_join repeatedly calls stop, which says whether to
// give up.
//
//export sg_go_join
func sg_go_join(rank, size C.int, where, network *C.char, threads, open C.int, progress, forProgress, stop, forStop unsafe.Pointer) C.int {
	at := C.GoString(where)
	lock.Lock()
	l := listeners[at]
	delete(listeners, at)
	lock.Unlock()
	makePlaces(threads != 0)
	meanwhile := func() { C.sg_go_progress((*[0]byte)(progress), forProgress) }
	rules, err := rulesOf(os.Getenv("SCHEDGEN_RULES"))
	if err != nil {
		complain(fmt.Errorf("rank %d of %d: SCHEDGEN_RULES: %w", rank, size, err))
		return joinFailed
	}
	comm, err := joinUnless(func() bool { return C.sg_go_stop((*[0]byte)(stop), forStop) != 0 }, member{
		rank: int(rank), size: int(size), where: at, network: C.GoString(network), listener: l, rules: rules, collectives: open == 0, meanwhile: meanwhile, message: int(open) * (1 + mostBytes),
	})
	if errors.Is(err, errStopped) {
		return joinStopped
	}
	if err != nil {
		complain(err)
		return joinFailed
	}
	lock.Lock()
	defer lock.Unlock()
	first := maxOpen * int(open)
	number := slices.Index(comms[first:first+maxOpen], nil)
	if number < 0 {
		_ = comm.Close() // it has performed no operation
		complain(fmt.Errorf("more than %d communicators", maxOpen))
		return joinFailed
	}
	comms[first+number] = &communicator{comm: comm, rules: rules}
	return C.int(first + number)
}

// makePlaces makes Go run on as many threads as there are callers, plus one. Waiting callers keep
// their threads for a while, and the background and the code that wakes callers need one as well.
func makePlaces(threads bool) {
	lock.Lock()
	defer lock.Unlock()
	callers := 1
	if threads { // each communicator may have its own thread
		for _, c := range comms {
			if c != nil {
				callers++
			}
		}
	}
	if want := callers + spare; goruntime.GOMAXPROCS(0) != want {
		goruntime.GOMAXPROCS(want)
	}
}

const spare = 2

// sg_go_barrier performs a barrier. Like all operations it returns 0, or another number after it
// has reported the error.
//
//export sg_go_barrier
func sg_go_barrier(number C.int) C.int {
	return answer(comms[number].comm.Barrier(context.Background()))
}

// sg_go_bcast broadcasts a number of bytes.
//
//export sg_go_bcast
func sg_go_bcast(number C.int, buffer unsafe.Pointer, bytes C.size_t, root C.int) C.int {
	return answer(comms[number].comm.Bcast(context.Background(), unsafe.Slice((*byte)(buffer), int(bytes)), int(root)))
}

// sg_go_run performs any collective.
//
//export sg_go_run
func sg_go_run(number C.int, call *C.struct_sg_go_call) C.int {
	c := comms[number]
	return answer(c.comm.Do(context.Background(), c.callOf(call)))
}

// callOf converts a call to the form of package runtime.
func (c *communicator) callOf(call *C.struct_sg_go_call) runtime.Call {
	do := runtime.Call{
		Collective: mpi.Collectives[call.operation], Root: int(call.root),
		Dst: unsafe.Slice((*byte)(call.dst), int(call.dst_bytes)),
		Src: unsafe.Slice((*byte)(call.src), int(call.src_bytes)),
	}
	if call.kernel > 0 {
		do.Fold = folds[call.kernel]
	} else if call.fold != nil {
		c.call = call
		if element, commutes := int(call.element), call.commutes != 0; c.fold.Element != element || c.fold.Commutes != commutes {
			c.fold = runtime.Fold{Name: anOperation, Element: element, Commutes: commutes, Kernel: c.kernel, Trusted: true}
		}
		do.Fold = &c.fold
	}
	if call.counted != 0 {
		do.Counted = true
		do.DstCounts, do.SrcCounts = lengths(call.dst_lengths, call.dst_blocks), lengths(call.src_lengths, call.src_blocks)
	}
	if call.counts != nil {
		do.Counted, do.DstCounts = true, []int{int(call.own)}
		for _, n := range unsafe.Slice(call.counts, int(call.blocks)) {
			do.SrcCounts = append(do.SrcCounts, int(n))
		}
	}
	return do
}

// lengths returns the lengths of blocks, or nil if there is at most one block, which needs no
// length.
func lengths(of *C.size_t, blocks C.int) []int {
	if blocks < 2 {
		return nil
	}
	all := make([]int, blocks)
	for i, n := range unsafe.Slice(of, int(blocks)) {
		all[i] = int(n)
	}
	return all
}

// kernel folds with the function of the running call.
func (c *communicator) kernel(dst, a, b []byte) {
	if len(dst) > 0 {
		C.sg_go_fold(c.call, unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), C.size_t(len(dst)))
	}
}

// sg_go_close closes a communicator after all its operations have ended at all ranks.
//
//export sg_go_close
func sg_go_close(number C.int) C.int {
	lock.Lock()
	c := comms[number]
	comms[number] = nil
	lock.Unlock()
	c.count()
	return answer(c.comm.Close())
}

func answer(err error) C.int {
	if err == nil {
		return 0
	}
	complain(err)
	return -1
}
