package cast

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Every call with a nil context returns an error and closes its communicator.
func TestNilContexts(t *testing.T) {
	var none context.Context
	sink := func(ctx context.Context, r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	in := NewIntake(none, sink, nil)
	require.ErrorIs(t, in.Close(), runtime.ErrInput)
	for name, call := range map[string]func(comm *runtime.Comm) error{
		"send": func(comm *runtime.Comm) error {
			_, err := Send(none, comm, func(context.Context, io.Writer) error { return nil }, SendOptions{})
			return err
		},
		"receive": func(comm *runtime.Comm) error { return Receive(none, comm, sink, ReceiveOptions{}) },
		"receive more": func(comm *runtime.Comm) error {
			in := NewIntake(t.Context(), sink, nil)
			defer in.Close()
			return in.Receive(none, comm, ReceiveOptions{})
		},
	} {
		comm := join(t, 1, mem.Options{}, "")[0]
		require.ErrorIs(t, call(comm), runtime.ErrInput, name)
		require.ErrorIs(t, comm.Err(), runtime.ErrClosed, name)
	}
}
