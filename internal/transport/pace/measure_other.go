//go:build !linux

package pace

import (
	"errors"
	"io/fs"

	"github.com/schedgen/schedgen/runtime/wire"
)

// measure fails: ranks share memory on Linux only.
func measure() (wire.Pace, error) { return wire.Pace{}, errors.ErrUnsupported }

func line() uint32 { return 0 }

// ownOnly is never called: nothing is measured, and so there is no file.
func ownOnly(fs.FileInfo) error { return errors.ErrUnsupported }
