package papers

import "context"

// realCurve is a curve of kind Run.
type realCurve struct {
	name string
	job  Job // without its ranks
}

// addMeasured adds the curves over numbers of ranks, in µs, if ranks can be run.
func (f *Figure) addMeasured(ctx context.Context, o Options, ranks []float64, curves ...realCurve) error {
	return f.runScaled(ctx, o, ranks, 0, 1, curves...)
}

// runScaled is like addMeasured for a figure in which X plus fewer is the number of ranks, and Y is
// in units of unit µs. xs are the values of X.
func (f *Figure) runScaled(ctx context.Context, o Options, xs []float64, fewer int, unit float64, curves ...realCurve) error {
	if o.Ranks == nil {
		return nil
	}
	for _, c := range curves {
		s, err := curveOf(c.name, Run, xs, func(x float64) (float64, error) {
			c.job.Params.Ranks = int(x) + fewer
			micros, err := o.Ranks(ctx, c.job)
			return micros / unit, err
		})
		if err != nil {
			return err
		}
		f.Series = append(f.Series, s)
	}
	return nil
}
