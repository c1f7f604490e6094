//go:build !linux

package yield

import goruntime "runtime"

func process() { goruntime.Gosched() }

func move() {} // where threads cannot be told where to run
