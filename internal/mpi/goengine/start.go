package main

// #include "call.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/schedgen/schedgen/runtime"
)

// requests holds the started operations of a communicator that have not ended, by token.
type requests struct {
	mu   sync.Mutex
	open map[uint64]started

	prepared []*prepared // by number; nil: free
}

// started is a started operation.
type started interface {
	Wait(ctx context.Context) error
	Test() (ended bool, err error)
}

// prepared is a persistent operation. note is that of the last start, and ended the list for it.
type prepared struct {
	*runtime.Prepared
	note  *C.struct_sg_go_note
	ended *C.uintptr_t
}

// sg_go_start starts a collective, which runs in the background. When it ends, its note is added to
// the front of the list at ended. It cannot fold with a function of the program.
//
//export sg_go_start
func sg_go_start(number C.int, call *C.struct_sg_go_call, note *C.struct_sg_go_note, ended *C.uintptr_t) C.int {
	c := comms[number]
	do := c.callOf(call)
	return c.requests.begin(note, func() (started, error) {
		do.Ended = func(err error) { c.requests.end(note, ended, err) }
		return c.comm.Start(context.Background(), do)
	})
}

// sg_go_prepare prepares a collective, as all ranks do. It returns its number, or -1 after it has
// reported the error.
//
//export sg_go_prepare
func sg_go_prepare(number C.int, call *C.struct_sg_go_call) C.int {
	c, p := comms[number], &prepared{}
	do := c.callOf(call)
	do.Ended = func(err error) { c.requests.end(p.note, p.ended, err) }
	var err error
	if p.Prepared, err = c.comm.Prepare(context.Background(), do); err != nil {
		return answer(err)
	}
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	for i, other := range c.requests.prepared {
		if other == nil {
			c.requests.prepared[i] = p
			return C.int(i)
		}
	}
	c.requests.prepared = append(c.requests.prepared, p)
	return C.int(len(c.requests.prepared) - 1)
}

// sg_go_start_prepared starts a prepared collective, like sg_go_start.
//
//export sg_go_start_prepared
func sg_go_start_prepared(number, which C.int, note *C.struct_sg_go_note, ended *C.uintptr_t) C.int {
	c := comms[number]
	c.requests.mu.Lock()
	p := c.requests.prepared[which]
	c.requests.mu.Unlock()
	p.note, p.ended = note, ended
	return c.requests.begin(note, func() (started, error) { return p, p.Start(context.Background()) })
}

// sg_go_drop_prepared forgets a prepared collective.
//
//export sg_go_drop_prepared
func sg_go_drop_prepared(number, which C.int) C.int {
	lock.Lock()
	c := comms[number]
	lock.Unlock()
	if c != nil {
		c.requests.mu.Lock()
		defer c.requests.mu.Unlock()
		c.requests.prepared[which] = nil
	}
	return 0
}

// begin records an operation as open and starts it.
func (r *requests) begin(note *C.struct_sg_go_note, start func() (started, error)) C.int {
	token := uint64(note.token)
	r.mu.Lock()
	if r.open == nil {
		r.open = make(map[uint64]started)
	}
	r.open[token] = nil // until it has started
	r.mu.Unlock()
	s, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		delete(r.open, token)
		return answer(err)
	}
	if _, ok := r.open[token]; ok { // it has not ended meanwhile
		r.open[token] = s
	}
	return 0
}

// end adds the note of an operation that has ended to the front of a list.
func (r *requests) end(note *C.struct_sg_go_note, ended *C.uintptr_t, err error) {
	note.err = answer(err)
	r.mu.Lock()
	defer r.mu.Unlock() // a caller that finds no request finds the note
	delete(r.open, uint64(note.token))
	pushNote(note, (*uintptr)(unsafe.Pointer(ended)))
}

// pushNote adds a note to the front of a list. The library may free the note as soon as it is there.
func pushNote(note *C.struct_sg_go_note, first *uintptr) {
	for {
		next := atomic.LoadUintptr(first)
		note.next = C.uintptr_t(next)
		if atomic.CompareAndSwapUintptr(first, next, uintptr(unsafe.Pointer(note))) {
			return
		}
	}
}

// request returns the operation of a token, or nil if it has ended.
func request(number C.int, token C.uint64_t) started {
	lock.Lock()
	c := comms[number]
	lock.Unlock()
	if c == nil {
		return nil
	}
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	return c.requests.open[uint64(token)]
}

// sg_go_wait waits until an operation has ended. Its note has the result.
//
//export sg_go_wait
func sg_go_wait(number C.int, token C.uint64_t) C.int {
	if r := request(number, token); r != nil {
		_ = r.Wait(context.Background())
	}
	return 0
}

// sg_go_test handles once what has arrived for an operation.
//
//export sg_go_test
func sg_go_test(number C.int, token C.uint64_t) C.int {
	if r := request(number, token); r != nil {
		_, _ = r.Test()
	}
	return 0
}
