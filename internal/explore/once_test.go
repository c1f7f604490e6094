package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// explorations records which test has explored what.
type explorations struct{ by map[string]string }

// every records the explorations of this package's tests, none of which runs in parallel.
var every = explorations{map[string]string{}}

// once reports whether t must explore o, because no other test has. With few ranks, several
// algorithms are the same except for their names, which do not matter to the core.
func (e *explorations) once(t *testing.T, o Options) bool {
	key, ok := likeness(t, o)
	if !ok {
		return true
	}
	by, has := e.by[key]
	if !has {
		e.by[key] = t.Name()
	} else if by != t.Name() {
		t.Logf("the same as %s", by)
	}
	return !has || by == t.Name()
}

// likeness spells o with algorithms numbered by first use instead of their names. ok is false if it
// cannot spell o.
func likeness(t *testing.T, o Options) (key string, ok bool) {
	var b strings.Builder
	names := map[string]int{}
	for _, list := range [][]Call{o.Calls, o.Odd} {
		fmt.Fprintln(&b, len(list), list == nil)
		for _, c := range list {
			if c.Schedule == nil {
				return "", false
			}
			s := *c.Schedule
			if _, has := names[s.Name()]; !has {
				names[s.Name()] = len(names)
			}
			s.Algorithm, s.Params = fmt.Sprint("a", names[s.Name()]), nil
			require.NoError(t, ir.WriteText(&b, &s))
			c.Schedule = nil
			fmt.Fprintf(&b, "%+v\n", c)
		}
	}
	o.Calls, o.Odd = nil, nil
	require.Nil(t, o.Progress, "has no spelling")
	fmt.Fprintf(&b, "%+v", o)
	return b.String(), true
}

// Explorations that differ in more than names are not skipped.
func TestOnce(t *testing.T) {
	e := explorations{map[string]string{}}
	o := Options{Ranks: 3, Calls: calls(t, 3, 1, "bcast/linear", "barrier/hsb")}
	require.True(t, e.once(t, o))
	require.True(t, e.once(t, o), "the same test again")
	another := func(same bool, change func(*Options)) {
		t.Helper()
		p := o
		change(&p)
		t.Run("another", func(t *testing.T) { require.Equal(t, !same, e.once(t, p)) })
	}
	another(true, func(*Options) {})
	another(true, func(p *Options) { p.Calls = calls(t, 3, 1, "bcast/binomial-doubling", "barrier/hsb") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 1, "bcast/chain", "barrier/hsb") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 2, "bcast/linear", "barrier/hsb") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 1, "barrier/hsb", "bcast/linear") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 1, "bcast/linear") })
	another(false, func(p *Options) { p.Losses = 1 })
	another(false, func(p *Options) { p.Windows.Remote = true })
	another(false, func(p *Options) { p.Odd = calls(t, 3, 1, "bcast/linear", "barrier/hsb") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 1, "bcast/linear", "bcast/linear") })
	another(false, func(p *Options) { p.Calls = calls(t, 3, 1, "bcast/linear", "bcast/binomial-doubling") })
}
