//go:build !linux

package shm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/runtime"
)

// errSystem is what this system lacks.
var errSystem = fmt.Errorf("shm: shared memory between ranks needs Linux: %w", errors.ErrUnsupported)

// Transport does not exist on this system.
type Transport struct{ runtime.Transport }

// Join fails: this system is not Linux.
func Join(_ context.Context, cfg Config) (*Transport, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	return nil, errSystem
}

// Create fails: this system is not Linux.
func Create(int) (*os.File, error) { return nil, errSystem }
