//go:build cgo

package main

/*
#include "call.h"

static void sg_go_answer_by(sg_go_answering answer, int origin, void *question, size_t bytes, void *values, void *with)
{
	answer(origin, question, bytes, values, with);
}

static void sg_go_learn_by(sg_go_learning learn, int origin, void *question, size_t bytes, void *values, void *with)
{
	learn(origin, question, bytes, values, with);
}
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/fold/exact"
	"github.com/schedgen/schedgen/runtime"
)

// rootless is a communicator that schedgen_open has opened. A published message has a byte in
// front, which says what the rest is.
//
// A rank that leaves tells the others by a message, and goes on taking messages and passing them on
// until all have left. So a rank that leaves early disturbs no other, and a rank that waits for a
// message learns that none can come.
type rootless struct {
	comm    *runtime.Comm
	calling sync.RWMutex // held for reading while a function of the program answers or learns
	left    bool         // guarded by calling: the rank has left, and its functions must not be called

	mu   sync.Mutex
	kept *runtime.Message // has been taken, and was longer than the buffer
	gone int              // number of other ranks that have left

	size int // bytes of an answer; 0: the rank does not answer
}

// The first byte of a published message.
const (
	aMessage = iota
	aFarewell
)

// Results of the functions below. The library in C has the same constants.
const (
	rootlessOK       = 0
	rootlessFailed   = -1
	rootlessLong     = -2 // the message is longer than a message may be
	rootlessNothing  = 1  // there is no message
	rootlessTruncate = 2  // the message is longer than the buffer
)

var errAllGone = errors.New("all other ranks have freed the communicator or called MPI_Finalize")

// opened returns the rootless communicator of a number.
func opened(number C.int) *rootless {
	lock.Lock()
	defer lock.Unlock()
	c := comms[number]
	if c.rootless == nil {
		c.rootless = &rootless{comm: c.comm}
	}
	return c.rootless
}

// result reports an error of a function of schedgen.h.
func (r *rootless) result(fn string, err error) C.int {
	if err == nil {
		return rootlessOK
	}
	fmt.Fprintf(os.Stderr, "schedgen: %s: rank %d of %d: %v\n", fn, r.comm.Rank(), r.comm.Size(), err)
	if errors.Is(err, runtime.ErrTooLarge) {
		return rootlessLong
	}
	return rootlessFailed
}

// bytesAt returns a copy of bytes of C behind a prefix.
func bytesAt(at unsafe.Pointer, n C.size_t, prefix ...byte) []byte {
	return append(prefix[:len(prefix):len(prefix)], unsafe.Slice((*byte)(at), int(n))...)
}

// sg_go_publish publishes a message.
//
//export sg_go_publish
func sg_go_publish(number C.int, message unsafe.Pointer, bytes C.size_t) C.int {
	r := opened(number)
	if bytes > mostBytes {
		return r.result("schedgen_publish", fmt.Errorf("%w: %d bytes, at most %d", runtime.ErrTooLarge, uint64(bytes), mostBytes))
	}
	return r.result("schedgen_publish", r.comm.Publish(context.Background(), bytesAt(message, bytes, aMessage)))
}

// mostBytes is the greatest length of a message and of a question.
const mostBytes = 1 << 20

// sg_go_flush waits until this rank's messages are at the others.
//
//export sg_go_flush
func sg_go_flush(number C.int) C.int {
	r := opened(number)
	return r.result("schedgen_flush", r.comm.Flush(context.Background()))
}

// sg_go_next copies a message to a buffer with room for so many bytes. It waits for a message, but
// not for long if waits is set, and not at all otherwise.
//
//export sg_go_next
func sg_go_next(number C.int, buffer unsafe.Pointer, room C.size_t, origin *C.int, bytes *C.size_t, waits C.int) C.int {
	r, fn := opened(number), "schedgen_try_next"
	take := r.comm.TryNext
	if waits != 0 {
		fn = "schedgen_next"
		ctx, cancel := clock.WithTimeoutCause(context.Background(), clock.System{}, slice, errSlice)
		defer cancel()
		take = func() (runtime.Message, bool, error) {
			m, err := r.comm.Next(ctx)
			if errors.Is(err, errSlice) {
				return m, false, nil
			}
			return m, err == nil, err
		}
	}
	m, err := r.next(take, waits != 0)
	switch {
	case err != nil:
		return r.result(fn, err)
	case m == nil:
		return rootlessNothing
	}
	data := m.Data[1:]
	*origin, *bytes = C.int(m.Origin), C.size_t(len(data))
	if C.size_t(len(data)) > room {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.kept = m
		return rootlessTruncate
	}
	copy(unsafe.Slice((*byte)(buffer), int(room)), data)
	return rootlessOK
}

// slice is how long sg_go_next waits at a time. The program's handlers of signals may run in
// between, and a message that another thread has put back is found.
const slice = 100e6

var errSlice = errors.New("the time of a slice is over")

// next returns a message of the program, or nil if take finds none.
func (r *rootless) next(take func() (runtime.Message, bool, error), waits bool) (*runtime.Message, error) {
	for {
		r.mu.Lock()
		kept, gone := r.kept, r.gone
		r.kept = nil
		r.mu.Unlock()
		if kept != nil {
			return kept, nil
		}
		if waits && gone == r.comm.Size()-1 {
			return nil, errAllGone
		}
		m, ok, err := take()
		if err != nil || !ok {
			return nil, err
		}
		if m.Data[0] == aMessage {
			return &m, nil
		}
		r.mu.Lock()
		r.gone++
		r.mu.Unlock()
	}
}

// sg_go_answer makes this rank answer questions with a number of bytes. kernel folds them.
//
//export sg_go_answer
func sg_go_answer(number C.int, kernel C.int, bytes C.size_t, answer C.sg_go_answering, learn C.sg_go_learning, with unsafe.Pointer) C.int {
	r := opened(number)
	size := int(bytes)
	how := runtime.Answering{
		Fold: folds[kernel],
		Answer: func(q runtime.Message) []byte {
			values := make([]uint64, (size+7)/8+1) // aligned for all elements
			of := unsafe.Pointer(unsafe.SliceData(values))
			called := r.call(func() {
				C.sg_go_answer_by(answer, C.int(q.Origin), unsafe.Pointer(unsafe.SliceData(q.Data)), C.size_t(len(q.Data)), of, with)
			})
			if !called {
				return nil // it has another length than the answers of ranks that have not left
			}
			return unsafe.Slice((*byte)(of), size)
		},
	}
	if learn != nil {
		how.Learn = func(q runtime.Message, result []byte, err error) {
			values := make([]uint64, (size+7)/8+1)
			of := unsafe.Pointer(unsafe.SliceData(values))
			if copy(unsafe.Slice((*byte)(of), size), result); err != nil {
				of = nil
			}
			r.call(func() {
				C.sg_go_learn_by(learn, C.int(q.Origin), unsafe.Pointer(unsafe.SliceData(q.Data)), C.size_t(len(q.Data)), of, with)
			})
		}
	}
	if err := r.comm.Answers(how); err != nil {
		return r.result("schedgen_answer", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = size
	return rootlessOK
}

// call calls a function of the program, unless this rank has left.
func (r *rootless) call(f func()) bool {
	r.calling.RLock()
	defer r.calling.RUnlock()
	if r.left {
		return false
	}
	f()
	return true
}

// sg_go_ask asks all ranks, and sets values to the fold of their answers.
//
//export sg_go_ask
func sg_go_ask(number C.int, question unsafe.Pointer, bytes C.size_t, values unsafe.Pointer) C.int {
	const fn = "schedgen_ask"
	r := opened(number)
	r.mu.Lock()
	size := r.size
	r.mu.Unlock()
	if size == 0 {
		return r.result(fn, errors.New("the ranks do not answer: call schedgen_answer first"))
	}
	if bytes > mostBytes {
		return r.result(fn, fmt.Errorf("%w: %d bytes, at most %d", runtime.ErrTooLarge, uint64(bytes), mostBytes))
	}
	result, err := r.comm.Ask(context.Background(), bytesAt(question, bytes))
	switch {
	case errors.Is(err, runtime.ErrUnanswered):
		err = fmt.Errorf("%w (a rank that has left answers with 0 elements)", err)
	case err == nil && len(result) != size:
		err = errAllGone // this rank, too
	case err == nil:
		copy(unsafe.Slice((*byte)(values), size), result)
	}
	return r.result(fn, err)
}

// parting is the number of communicators that this rank leaves and that other ranks have not left.
// allLeft returns a channel that is closed when it is 0.
var (
	parting sync.WaitGroup
	allLeft = sync.OnceValue(func() <-chan struct{} {
		over := make(chan struct{})
		go func() {
			parting.Wait()
			close(over)
		}()
		return over
	})
)

// sg_go_leave makes this rank leave. It waits for no other rank. It waits for functions of the
// program that are answering, unless answers says that such a function is the caller.
//
//export sg_go_leave
func sg_go_leave(number C.int, answers C.int) C.int {
	r := opened(number)
	leave := func() {
		r.calling.Lock()
		defer r.calling.Unlock()
		r.left = true
	}
	if answers == 0 {
		leave()
	}
	parting.Go(func() {
		if answers != 0 {
			leave()
		}
		r.part()
		lock.Lock()
		defer lock.Unlock()
		comms[number] = nil
	})
	return 0
}

// sg_go_all_left waits, but not for long, until other ranks have left all communicators that this
// rank leaves. It returns 0 if they have. No communicator may be left after the first call.
//
//export sg_go_all_left
func sg_go_all_left() C.int {
	late := make(chan struct{})
	defer clock.System{}.AfterFunc(slice/10, func() { close(late) }).Stop()
	select {
	case <-allLeft():
		return 0
	case <-late:
		return 1
	}
}

// part says farewell, takes what others publish until all have left, and closes the communicator.
// Errors are those of a communicator that has failed: the ranks that still use it report them.
func (r *rootless) part() {
	ctx := context.Background()
	said := make(chan error, 1)
	go func() { said <- r.comm.Publish(ctx, []byte{aFarewell}) }()
	take := func() (runtime.Message, bool, error) {
		m, err := r.comm.Next(ctx)
		return m, err == nil, err
	}
	for {
		if _, err := r.next(take, true); err != nil {
			break
		}
	}
	if err := <-said; err == nil {
		_ = r.comm.Flush(ctx)
	}
	_ = r.comm.Close()
}

// sg_go_exact sets n sums to the exact sums of the rows, which are one after the other. Elements
// have 4 or 8 bytes.
//
//export sg_go_exact
func sg_go_exact(sums, rows unsafe.Pointer, n, ranks C.size_t, element C.int) C.int {
	if element == 4 {
		exact.Rows(unsafe.Slice((*float32)(sums), n), unsafe.Slice((*float32)(rows), n*ranks))
	} else {
		exact.Rows(unsafe.Slice((*float64)(sums), n), unsafe.Slice((*float64)(rows), n*ranks))
	}
	return 0
}
