//go:build !linux

package yield

import goruntime "runtime"

func process() { goruntime.Gosched() }
