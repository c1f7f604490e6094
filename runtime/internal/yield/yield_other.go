//go:build !linux

package yield

import goruntime "runtime"

func process() { goruntime.Gosched() }

// Where threads cannot be told where to run:

func move() {}

func goHome(int) bool { return false }
