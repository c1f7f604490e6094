//go:build !linux

package yield

import goruntime "runtime"

func process() { goruntime.Gosched() }

// Systems where a thread cannot choose its core:

func move() {}

func goHome(int) bool { return false }
