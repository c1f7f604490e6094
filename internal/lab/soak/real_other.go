//go:build !linux

package soak

import (
	"context"
	"errors"

	"github.com/schedgen/schedgen/internal/terminal"
)

// runReal says that there are no processes to run here.
func (c *Verb) runReal(context.Context, terminal.Stdio) error {
	return errors.Join(c.checkReal(), errors.New("--real: needs Linux"))
}
