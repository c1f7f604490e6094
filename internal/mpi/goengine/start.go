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
	open map[uint64]*runtime.Request
}

// sg_go_start starts a collective, which runs in the background. When it ends, its note is added to
// the front of the list at ended. It cannot fold with a function of the program.
//
//export sg_go_start
func sg_go_start(number C.int, call *C.struct_sg_go_call, note *C.struct_sg_go_note, ended *C.uintptr_t) C.int {
	c, token, over := comms[number], uint64(note.token), false
	do := c.callOf(call)
	do.Ended = func(err error) {
		note.err = answer(err)
		c.requests.mu.Lock()
		defer c.requests.mu.Unlock() // a caller that finds no request finds the note
		over = true
		delete(c.requests.open, token)
		pushNote(note, (*uintptr)(unsafe.Pointer(ended)))
	}
	r, err := c.comm.Start(context.Background(), do)
	if err != nil {
		return answer(err)
	}
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	if !over {
		if c.requests.open == nil {
			c.requests.open = make(map[uint64]*runtime.Request)
		}
		c.requests.open[token] = r
	}
	return 0
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
func request(number C.int, token C.uint64_t) *runtime.Request {
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
