package papers

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// TestRunner checks that runs have curves of their own, and that the error of a failed run names
// its figure.
func TestRunner(t *testing.T) {
	found, err := Find("000/4")
	require.NoError(t, err)
	var jobs []Job
	o := Options{Quick: true, Ranks: func(_ context.Context, j Job) (float64, error) {
		jobs = append(jobs, j)
		return float64(j.Params.Ranks), nil
	}}
	f, err := found[0].Make(t.Context(), o)
	require.NoError(t, err)
	run := f.Series[len(f.Series)-1]
	require.Equal(t, Run, run.Kind)
	require.Equal(t, Point{8, 8}, run.Points[len(run.Points)-1])
	require.Equal(t, tree000, jobs[0].Algorithm)
	require.Equal(t, mcast000, jobs[len(jobs)-1].Algorithm)

	found, err = Find("001/4")
	require.NoError(t, err)
	jobs = nil
	f, err = found[0].Make(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, Job{Operation: "anycast_loop", Algorithm: skipRing, Params: schedule.Params{Ranks: 2}, Bytes: 10}, jobs[0])
	require.Equal(t, Point{8, 8}, f.Series[len(f.Series)-1].Points[3])

	found, err = Find("004/2-both") // over destinations, in ms
	require.NoError(t, err)
	f, err = found[0].Make(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, Point{7, 0.008}, f.Series[len(f.Series)-1].Points[3])

	found, err = Find("000/4")
	require.NoError(t, err)
	o.Ranks = func(context.Context, Job) (float64, error) { return 0, errors.New("no ranks") }
	_, err = found[0].Make(t.Context(), o)
	require.EqualError(t, err, "figure 000/4: no ranks")
}
