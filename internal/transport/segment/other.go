//go:build !linux

package segment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// errSystem says what this system lacks.
var errSystem = fmt.Errorf("shm: shared memory between ranks needs Linux: %w", errors.ErrUnsupported)

// Transport does not exist on this system.
type Transport struct {
	wire.Transport
}

// Windows do not exist either.
type Windows struct{ wire.Sets }

// Open is never called.
func (*Windows) Open(int, []int, uint32) (*Windows, error) { return nil, errSystem }

// First is never called.
func (*Transport) First() *Windows { return nil }

// Join fails: this system is not Linux.
func Join(_ context.Context, cfg Config) (*Transport, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	return nil, errSystem
}

// Create fails: this system is not Linux.
func Create(int) (*os.File, error) { return nil, errSystem }

// Reserve fails: this system is not Linux.
func Reserve() (*os.File, error) { return nil, errSystem }

// Complete fails: this system is not Linux.
func Complete(*os.File, int) error { return errSystem }

// Completed fails: this system is not Linux.
func Completed(*os.File) (bool, error) { return false, errSystem }

// Away is never called: there is no Transport on this system.
func (*Transport) Away(time.Duration) (limit time.Duration, ok bool) { return 0, false }

// Copies is never called.
func (*Transport) Copies() (n int, why error) { return 0, errSystem }

// Back is never called.
func (*Transport) Back() {}
