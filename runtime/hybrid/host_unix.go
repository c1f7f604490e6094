//go:build !linux

package hybrid

import (
	"errors"
	"fmt"
)

// hostName fails: ranks share memory only on Linux.
func hostName() (string, error) {
	return "", fmt.Errorf("shared memory between ranks needs Linux: %w", errors.ErrUnsupported)
}
