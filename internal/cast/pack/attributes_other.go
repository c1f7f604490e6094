//go:build !linux

package pack

import (
	"errors"
	"os"

	"github.com/schedgen/schedgen/internal/cast/record"
)

// readExtended returns an error. Only Linux is supported.
func readExtended(*os.File, bool, bool) ([]record.Extended, error) {
	return nil, errors.New("only Linux can send access lists and extended attributes")
}
