package selection

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// serves reports whether the algorithm of a rule is there, and folds in the way that the case demands.
func (r *Rule) serves(c *Case) bool {
	switch {
	case r.Algorithm == MPI:
		return c.MPI && !c.Reproducible
	case !c.Ordered && !c.Reproducible || r.Algorithm == BuiltIn:
		return true
	case r.Algorithm == Modelled:
		return modelledServes(c)
	}
	spec, err := schedule.New(r.Algorithm, schedule.Params{Ranks: c.Ranks, Degree: r.Params.Degree, Hosts: r.Params.HostsFor(c)})
	if err != nil {
		return true // the caller that uses it gets the error
	}
	return (!c.Ordered || spec.RankOrder()) && (!c.Reproducible || spec.Tree() != "" && spec.Tree() == Tree(c.Collective))
}

// passedOver reports whether the rule fits cases that it does not serve. A later rule decides such
// cases.
func (r *Rule) passedOver() bool {
	if r.Algorithm == MPI {
		return true
	}
	if r.Algorithm == Modelled {
		row, _ := ir.CollectiveNamed(r.Collective)
		return row.Inputs != nil
	}
	a, ok := schedule.Named(r.Algorithm)
	row := a.Row()
	return ok && row.Inputs != nil && (!a.RankOrder || a.Tree == "" || r.Params.Masters)
}

// Tree returns the name of the tree by which a collective folds if results must be reproducible:
// the tree of the first of its algorithms that has one. It is "" if the collective folds nothing.
func Tree(collective string) string {
	for _, a := range schedule.AlgorithmsOf(collective) {
		if a.Tree != "" {
			return a.Tree
		}
	}
	return ""
}

// folded returns the number of chunks into which a vector is cut that the algorithm folds, 0 if it
// folds nothing. cut says that the vector may be cut further.
func (m *Message) folded(a *schedule.Algorithm) (chunks int, cut bool) {
	row := a.Row()
	switch {
	case row.Inputs == nil:
		return 0, false
	case a.Uncut():
		return 1, false
	case a.CutsItself():
		return a.DefaultChunks(m.Ranks), true
	case m.Algorithm == "reduce/chain" || m.Algorithm == "scan/chain":
		return m.pipeline(m.Ranks-2, 2*chunkCost), true // a rank also begins a fold for each chunk
	case m.Algorithm == "reduce/two-tree":
		return m.pipeline(m.treeSteps(), 2*chunkCost), true
	case m.Algorithm == "allreduce/two-tree":
		return m.pipeline(2*m.treeSteps(), 2*chunkCost), true
	case m.Links && (m.Algorithm == "scan/doubling" || m.Algorithm == "exscan/doubling"):
		return min(m.pieces(prefixBytes), 2), true
	case a.Multicasts() && m.Datagram > 0:
		return m.pieces(min(m.Datagram, chunkBytes)), true
	}
	return 1, true
}
