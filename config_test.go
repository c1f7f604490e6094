package schedgen

import (
	"log/slog"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule/selection"
)

// TestConfigIsHandedDown checks that every field that package runtime also has is handed down to
// it.
func TestConfigIsHandedDown(t *testing.T) {
	transports, err := mem.New(1, mem.Options{})
	require.NoError(t, err)
	cfg := Config{
		Transport: transports[0], Rules: selection.Builtin(), Network: new(network.Network), Clock: clock.System{}, Learn: os.DevNull,
		Observe: Observe{Log: slog.Default(), Trace: func(runtime.Event) {}}, Quorum: Majority,
		Prepare: []Shape{{Collective: "gather", Bytes: 5, Root: 6, Ordered: true, Counted: true}},
	}
	next := int64(1) // each number differs
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Int, reflect.Int64:
				next++
				f.SetInt(next)
			case reflect.Uint8, reflect.Uint32:
				f.SetUint(3)
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Struct:
				fill(f)
			}
		}
	}
	fill(reflect.ValueOf(&cfg).Elem())
	above, under := reflect.ValueOf(cfg), reflect.ValueOf(cfg.below())
	for i := range above.NumField() {
		name := above.Type().Field(i).Name
		if name == "Algorithms" {
			continue
		}
		require.False(t, above.Field(i).IsZero(), "%s is not set by this test", name)
		f := under.FieldByName(name)
		require.True(t, f.IsValid(), "package runtime has no field %s", name)
		switch name {
		case "Quorum":
			require.True(t, cfg.below().Quorum([]int{1, 2}, 3) && !cfg.below().Quorum([]int{1, 2}, 4))
		case "Observe":
			require.False(t, f.FieldByName("Log").IsZero() || f.FieldByName("Trace").IsZero())
		case "Prepare":
			require.Equal(t, []runtime.Shape{runtime.Shape(cfg.Prepare[0])}, f.Interface())
		default:
			require.Equal(t, above.Field(i).Convert(f.Type()).Interface(), f.Interface(), name)
		}
	}
}

// TestAlgorithms checks that algorithms are handed down with their parameters, and that wrong ones
// are errors.
func TestAlgorithms(t *testing.T) {
	join := func(algorithms map[string]Algorithm, trace func(runtime.Event)) (*Comm, error) {
		transports, err := mem.New(1, mem.Options{})
		require.NoError(t, err)
		return Join(t.Context(), Config{Transport: transports[0], Algorithms: algorithms, Observe: Observe{Trace: trace}})
	}
	var names []string
	c, err := join(map[string]Algorithm{
		"bcast":   {Name: "bcast/chain", Chunks: 3},
		"barrier": {Name: "barrier/dissemination", Degree: 3},
		"gather":  {Name: "gather/binomial"},
		"anycast": {},
	}, func(e runtime.Event) {
		if e.Kind == runtime.EventBegan {
			names = append(names, e.Op)
		}
	})
	require.NoError(t, err)
	require.NoError(t, Bcast(t.Context(), c, []int{1, 2, 3}, 0))
	require.NoError(t, Barrier(t.Context(), c))
	require.NoError(t, Gather(t.Context(), c, []int{1}, make([]int, 1), 0))
	require.NoError(t, c.Close())
	require.Equal(t, []string{"bcast/chain", "barrier/dissemination", "gather/binomial"}, names)

	_, err = join(map[string]Algorithm{"broadcast": {}}, nil)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, `there is no collective "broadcast" (its algorithm is "")`)
	_, err = join(map[string]Algorithm{"bcast": {Name: "bcast/chain", Degree: 3}}, nil)
	require.ErrorContains(t, err, "degree")
	_, err = Join(t.Context(), Config{Chunk: -1})
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "Config.Chunk is negative")
}
