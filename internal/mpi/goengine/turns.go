//go:build cgo

package main

// #include "call.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/schedgen/schedgen/internal/mpi"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule/selection"
)

// sg_go_turn asks whose turn the next blocking calls are that have blocks of a number of bytes: see
// runtime.Comm.Turn. It sets *calls to their number, negative if the MPI performs them. It returns
// 1 if the only call is to be timed, or -1 after it has reported an error.
//
//export sg_go_turn
func sg_go_turn(number, operation C.int, bytes C.size_t, ordered, kernel C.int, calls *C.int) C.int {
	s := runtime.Shape{Collective: mpi.Collectives[operation], Bytes: int(bytes), Ordered: ordered != 0}
	t, err := comms[number].comm.Turn(context.Background(), s, kernel > 0 && folds[kernel].Exact)
	if err != nil {
		*calls = 1
		return answer(err)
	}
	if *calls = C.int(t.Calls); t.MPI {
		*calls = -*calls
	}
	if t.Timed {
		return 1
	}
	return 0
}

// sg_go_took tells how many nanoseconds the call has taken that sg_go_turn wants to be timed.
//
//export sg_go_took
func sg_go_took(number C.int, nanoseconds C.ulonglong) C.int {
	return answer(comms[number].comm.Took(context.Background(), time.Duration(nanoseconds)))
}

// sg_go_left tells which lengths of an operation the rules leave to the MPI. From least[i] bytes on,
// the MPI performs it if left[i] is not 0, else the engine. It returns their number, which is 0 if
// no rule is about the MPI, and at most most. Lengths are those of the library: a reduce-scatter has
// that of the blocks of all ranks.
//
//export sg_go_left
func sg_go_left(number, operation C.int, least, left *C.int, most C.int) C.int {
	c := comms[number]
	collective, unit := mpi.Collectives[operation], 1
	if mpi.Operation(operation) == mpi.ReduceScatter {
		unit = c.comm.Size()
	}
	bounds, found := []int{0}, false
	for _, r := range c.rules.List() {
		if r.Collective == collective {
			bounds = append(bounds, r.Bytes.From, r.Bytes.To)
			found = found || r.Algorithm == selection.MPI
		}
	}
	if !found {
		return 0
	}
	slices.Sort(bounds)
	leasts, lefts := unsafe.Slice(least, int(most)), unsafe.Slice(left, int(most))
	n := 0
	for _, bytes := range slices.Compact(bounds) {
		if n == int(most) || bytes > maxLength/unit {
			break
		}
		t, err := c.comm.Turn(context.Background(), runtime.Shape{Collective: collective, Bytes: bytes}, false)
		if err != nil {
			return answer(err)
		}
		leasts[n], lefts[n] = C.int(bytes*unit), 0
		if t.MPI {
			lefts[n] = 1
		}
		n++
	}
	return C.int(n)
}

// maxLength is the greatest length of an operation that the library has performed here.
const maxLength = 1<<31 - 1

// sg_go_learned writes a line for each lesson of a communicator to the standard error: what was
// tried, what was chosen, and what that gains.
//
//export sg_go_learned
func sg_go_learned(number C.int) C.int {
	c := comms[number].comm
	all := c.State().Learned
	for i := range all {
		fmt.Fprintf(os.Stderr, "schedgen: learned: %s\n", lessonText(&all[i], c.Size()))
	}
	return 0
}

// bytesSent counts what the closed communicators of this process have sent.
var bytesSent struct{ network, multicast, memory uint64 } // guarded by lock

// count adds what a communicator has sent.
func (c *communicator) count() {
	sent := c.comm.Totals().Transport
	lock.Lock()
	defer lock.Unlock()
	bytesSent.network += sent.PutBytes - sent.MemoryBytes
	bytesSent.multicast += sent.McastBytes
	bytesSent.memory += sent.MemoryBytes
}

// sg_go_sent writes to the standard error how the bytes of this process have left it, if any have.
//
//export sg_go_sent
func sg_go_sent() C.int {
	network := "TCP"
	if os.Getenv("SCHEDGEN_TRANSPORT") == "verbs" {
		network = "verbs"
	}
	lock.Lock()
	defer lock.Unlock()
	var all []string
	for _, w := range []struct {
		bytes uint64
		how   string
	}{{bytesSent.network, "by " + network}, {bytesSent.multicast, "by multicast"}, {bytesSent.memory, "through memory"}} {
		if w.bytes > 0 {
			all = append(all, fmt.Sprintf("%d bytes %s", w.bytes, w.how))
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(os.Stderr, "schedgen: engine go: rank 0 has sent", strings.Join(all, ", "))
	}
	return 0
}

// lessonText describes what was learned about a class of calls.
func lessonText(l *runtime.Learned, ranks int) string {
	text := fmt.Sprintf("%s among %d ranks", l.Collective, ranks)
	if l.Collective != mpi.Collectives[mpi.Barrier] {
		text += fmt.Sprintf(", up to %d bytes", l.Bytes)
	}
	var tried []string
	for _, t := range l.Tried {
		tried = append(tried, t.String())
	}
	switch {
	case l.Trials == 0:
		return fmt.Sprintf("%s: nothing yet, after %d calls", text, l.Calls)
	case l.Algorithm == selection.MPI:
		text += ": left to the MPI"
	default:
		text += fmt.Sprintf(": %s takes %d %% less than the MPI", l.Algorithm, l.Less())
	}
	return fmt.Sprintf("%s; tried %s", text, strings.Join(tried, ", "))
}

// algorithms numbers the names of algorithms, for the library's report.
var algorithms struct {
	sync.Mutex
	names []string
}

// sg_go_ran returns the number of the algorithm of the last operation of a communicator.
//
//export sg_go_ran
func sg_go_ran(number C.int) C.int {
	name := comms[number].comm.Ran()
	algorithms.Lock()
	defer algorithms.Unlock()
	i := slices.Index(algorithms.names, name)
	if i < 0 {
		i = len(algorithms.names)
		algorithms.names = append(algorithms.names, name)
	}
	return C.int(i)
}

// sg_go_name writes the name of an algorithm with a number of sg_go_ran to a buffer of size bytes.
//
//export sg_go_name
func sg_go_name(algorithm C.int, name *C.char, size C.int) C.int {
	algorithms.Lock()
	defer algorithms.Unlock()
	copyText(algorithms.names[algorithm], name, size)
	return 0
}
