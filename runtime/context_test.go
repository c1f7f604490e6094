package runtime_test

import (
	"context"
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// withNil calls every method of v that takes a context with a nil context and zero values. It
// returns their errors by name.
func withNil(v any) map[string]error {
	errs := map[string]error{}
	of, ctx := reflect.ValueOf(v), reflect.TypeFor[context.Context]()
	for i := range of.NumMethod() {
		m := of.Method(i)
		takes := false
		var in []reflect.Value
		for j := range m.Type().NumIn() {
			takes = takes || m.Type().In(j) == ctx
			in = append(in, reflect.Zero(m.Type().In(j)))
		}
		if !takes {
			continue
		}
		name := of.Type().Method(i).Name
		errs[name] = nil
		for _, out := range m.Call(in) {
			switch out := out.Interface().(type) {
			case error:
				errs[name] = out
			case iter.Seq2[runtime.Message, error]:
				for _, err := range out {
					errs[name] = err
				}
			}
		}
	}
	return errs
}

// A nil context is refused by every call, which does nothing: the communicator works on, and can be
// closed.
func TestNilContexts(t *testing.T) {
	for name, o := range map[string]mem.Options{"frames": {}, "windows": {Windows: true}} {
		t.Run(name, func(t *testing.T) {
			comms := group(t, 2, o, runtime.Config{})
			works := func() {
				require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
				require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Bcast(t.Context(), make([]byte, 9), 1) }))
			}
			for range 2 { // the second time with plans, so that calls take the quick path
				errs := withNil(comms[0])
				require.Len(t, errs, 26)
				for name, err := range errs {
					require.ErrorIs(t, err, runtime.ErrInput, name)
					require.ErrorContains(t, err, "the context is nil", name)
				}
				works()
			}
			r, err := comms[0].StartBarrier(t.Context())
			require.NoError(t, err)
			for name, err := range withNil(r) {
				require.ErrorIs(t, err, runtime.ErrInput, name)
			}
			require.NoError(t, comms[1].Barrier(t.Context()))
			require.NoError(t, r.Wait(t.Context()))
			works()
			require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Close() }))
		})
	}
	var none context.Context
	ts, err := mem.New(1, mem.Options{})
	require.NoError(t, err)
	_, err = runtime.Join(none, runtime.Config{Transport: ts[0]})
	require.ErrorIs(t, err, runtime.ErrInput)
	_, err = runtime.Init(none)
	require.EqualError(t, err, "join: invalid argument: the context is nil")
}
