//go:build !linux

package hybrid

import (
	"errors"
	"fmt"
)

// hostName fails: only on Linux do ranks share memory.
func hostName() (string, error) {
	return "", fmt.Errorf("shared memory between ranks needs Linux: %w", errors.ErrUnsupported)
}
