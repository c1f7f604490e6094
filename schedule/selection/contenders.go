package selection

import (
	"cmp"
	"math"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// Contenders returns the algorithms that may be the fastest in a case, at most most of them, each
// with one set of parameters. The first is the choice of the rules. Then come their choices for
// lengths up to 16 times shorter or longer, since bounds in bytes depend on the machine. Then come
// algorithms in the order of their times in the model of the network, and then those without a
// closed form there.
//
// exact says that every order of folding gives the same bits. Otherwise all contenders of a
// collective that folds give the bits of the first one. They serve the demands of the case in any
// case. Contenders returns nil if no rule fits.
func (r *Rules) Contenders(c Case, exact bool, most int) []Decision {
	first, ok := r.Of(c)
	if !ok {
		return nil
	}
	all := []Decision{first}
	if row, _ := ir.CollectiveNamed(c.Collective); row.Inputs != nil && !exact {
		one := c
		one.Reproducible = true
		if !first.Rule.serves(&one) {
			return all // no other algorithm is known to fold by its trees
		}
		c = one
	}
	add := func(d Decision) {
		has := func(other Decision) bool { return other.Rule.Algorithm == d.Rule.Algorithm }
		if len(all) < most && !slices.ContainsFunc(all, has) {
			all = append(all, d)
		}
	}
	for _, bytes := range []int{c.Bytes / 4, times(c.Bytes, 4), c.Bytes / 16, times(c.Bytes, 16)} {
		near := c
		near.Bytes = bytes
		if d, ok := r.Of(near); ok {
			add(d)
		}
	}
	for _, rule := range estimated(&c) {
		add(Decision{Rule: rule, Hosts: rule.Params.HostsFor(&c)})
	}
	return all
}

// times returns n·by, or the greatest length.
func times(n, by int) int {
	if n > maxBytes/by {
		return maxBytes
	}
	return n * by
}

// estimated returns a rule for each built-in algorithm that serves a case. Those with a closed form in
// the model of the network come first, in the order of their times. Programs do not link the
// simulator for the others.
func estimated(c *Case) []*Rule {
	type timed struct {
		rule *Rule
		took float64
	}
	var all []timed
	for _, alg := range schedule.AlgorithmsOf(c.Collective) {
		if alg.Multicasts() && !c.Multicast {
			continue
		}
		rule := &Rule{Collective: c.Collective, Algorithm: alg.Name, Params: Params{Masters: c.Hosts > 0 && slices.Contains(alg.Params, "hosts")}}
		took := rule.estimate(c)
		spec, err := schedule.New(alg.Name, schedule.Params{Ranks: c.Ranks, Degree: rule.Params.Degree, Hosts: rule.Params.HostsFor(c)})
		if err == nil && !spec.Registered() && rule.serves(c) {
			all = append(all, timed{rule, took})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.took, b.took) })
	rules := make([]*Rule, len(all))
	for i := range all {
		rules[i] = all[i].rule
	}
	return rules
}

// estimate returns the least time of the rule's algorithm in the model of the network, in ns, and sets
// the parameters that take it. It returns infinity if there is no closed form.
func (r *Rule) estimate(c *Case) float64 {
	network := networkOf(c)
	least, masters := math.Inf(1), r.Params.Masters
	for _, of := range candidates()[c.Collective] {
		if of.rule.Algorithm != r.Algorithm {
			continue
		}
		if took := of.time(network, c.Ranks, float64(c.Bytes)); took < least {
			least, r.Params = took, of.rule.Params
		}
	}
	r.Params.Masters = masters
	return least
}

// Over returns a table in which rules come before those of base; nil stands for the built-in rules.
// It leaves out rules for which no case remains, and adds rules that leave all other cases to the
// built-in rules. The error is as for [New].
func Over(rules []Rule, base *Rules) (*Rules, error) {
	if base != nil && base.Digest() != 0 {
		rules = slices.Concat(rules, base.list)
	}
	var all []Rule
	for _, row := range ir.Collectives() {
		own := of(rules, row.Name)
		if len(own) == 0 {
			continue
		}
		own = append(own, &Rule{Collective: row.Name, Algorithm: BuiltIn})
		g := newGrid(row.Name, own)
		used, _, err := g.try(own)
		if err != nil {
			return nil, err
		}
		for i, rule := range own {
			if used[i] {
				all = append(all, *rule)
				all[len(all)-1].Line = 0
			}
		}
	}
	return New(all)
}
