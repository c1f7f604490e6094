package group_test

import (
	"context"
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/group"
)

// Every method with a context refuses a nil one, and the membership continues.
func TestNilContexts(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	g := w.join()
	defer g.Close()
	of, ctx := reflect.ValueOf(g), reflect.TypeFor[context.Context]()
	called := 0
	for i := range of.NumMethod() {
		m := of.Method(i)
		if m.Type().NumIn() == 0 || m.Type().In(0) != ctx {
			continue
		}
		var in []reflect.Value
		for j := range m.Type().NumIn() {
			in = append(in, reflect.Zero(m.Type().In(j)))
		}
		out := m.Call(in)
		err, _ := out[len(out)-1].Interface().(error)
		if all, ok := out[0].Interface().(iter.Seq2[group.Message, error]); ok {
			for _, err = range all {
			}
		}
		require.ErrorIs(t, err, runtime.ErrInput, of.Type().Method(i).Name)
		called++
	}
	require.Equal(t, 6, called)
	require.NoError(t, g.Err())
	require.NoError(t, g.Publish(t.Context(), []byte("all is well")))
	_, err := g.Advance(t.Context())
	require.NoError(t, err)
	var none context.Context
	_, err = group.Join(none, w.config())
	require.ErrorIs(t, err, runtime.ErrInput)
}
