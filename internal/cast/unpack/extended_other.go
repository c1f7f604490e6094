//go:build !linux

package unpack

import (
	"errors"
	"os"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// setExtended returns an error if there are attributes to set. Only Linux is supported.
func setExtended(_ *os.File, a *record.Attributes) error {
	if len(a.Extended) == 0 {
		return nil
	}
	return errors.New("only Linux can keep access lists and extended attributes")
}
