package papers

import "context"

// realCurve is a curve of kind Run over numbers of ranks.
type realCurve struct {
	name string
	job  Job // without its ranks
}

// run adds the curves, if ranks can be run.
func (f *Figure) run(ctx context.Context, o Options, ranks []float64, curves ...realCurve) error {
	if o.Ranks == nil {
		return nil
	}
	for _, c := range curves {
		s, err := curveOf(c.name, Run, ranks, func(x float64) (float64, error) {
			c.job.Params.Ranks = int(x)
			return o.Ranks(ctx, c.job)
		})
		if err != nil {
			return err
		}
		f.Series = append(f.Series, s)
	}
	return nil
}
