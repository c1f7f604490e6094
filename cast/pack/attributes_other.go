//go:build !linux

package pack

import (
	"errors"
	"os"

	"github.com/schedgen/schedgen/cast/record"
)

// readExtended returns an error, because only those of Linux are supported.
func readExtended(*os.File, bool, bool) ([]record.Extended, error) {
	return nil, errors.New("only Linux can send access lists and extended attributes")
}
