package agree

import (
	"fmt"
	mathbits "math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// assembly holds ballots of several ranks and the messages under way between them. Ranks die. Each
// other rank notices a death when all messages of the dead rank that still arrive have arrived.
type assembly struct {
	size    int
	ballots []*ballot
	dead    []bool
	told    [][]bool         // [a][b]: rank a knows that b is dead
	way     [][]*content     // [from*size+to]: messages under way
	sent    int              `state:"ignored"`
	depth   []int            `state:"ignored"` // length of the longest chain of messages that has led to the rank's state
	depths  map[*content]int `state:"fixed"`   // by message
}

func assemble(size int) *assembly {
	a := &assembly{size: size, dead: make([]bool, size), way: make([][]*content, size*size), depth: make([]int, size), depths: map[*content]int{}}
	for r := range size {
		a.told = append(a.told, make([]bool, size))
		a.ballots = append(a.ballots, newBallot(1, r, size))
	}
	return a
}

// send puts the messages of a rank under way.
func (a *assembly) send(from int) {
	for _, m := range a.ballots[from].out {
		c := contentOf(m.Kind, m.Body, a.size)
		a.sent++
		a.depths[c] = a.depth[from] + 1
		if !a.dead[m.To] {
			a.way[from*a.size+m.To] = append(a.way[from*a.size+m.To], c)
		}
	}
	a.ballots[from].out = nil
}

// step is a possible next step.
type step struct {
	kind     byte // 'v'ote, 'd'eliver, 'n'otice, 'k'ill, 'c'ut: the last message of a dead rank is lost
	from, to int
}

// steps returns all possible steps; deaths is how many more ranks may die.
func (a *assembly) steps(deaths int) (all []step) {
	for r, b := range a.ballots {
		if a.dead[r] {
			continue
		}
		if !b.voted {
			all = append(all, step{'v', r, r})
		}
		if deaths > 0 {
			all = append(all, step{'k', r, r})
		}
	}
	for from := range a.size {
		for to := range a.size {
			switch queue := a.way[from*a.size+to]; {
			case from == to || a.dead[to]:
			case len(queue) > 0 && a.dead[from]:
				all = append(all, step{'d', from, to}, step{'c', from, to})
			case len(queue) > 0:
				all = append(all, step{'d', from, to})
			case a.dead[from] && !a.told[to][from]:
				all = append(all, step{'n', from, to})
			}
		}
	}
	return all
}

func (a *assembly) do(s step) {
	b, queue := a.ballots[s.to], &a.way[s.from*a.size+s.to]
	switch s.kind {
	case 'v':
		b.vote(Vote{Flags: ^(uint64(1) << s.to), Generation: uint32(s.to)}, nil)
	case 'k':
		a.dead[s.to], a.ballots[s.to], a.told[s.to] = true, nil, nil
		for from := range a.size {
			a.way[from*a.size+s.to] = nil
		}
		return
	case 'c':
		*queue = (*queue)[:len(*queue)-1]
	case 'n':
		a.told[s.to][s.from] = true
		gone := NewSet(a.size)
		gone.Add(s.from)
		b.learn(gone, Losses{gone, NewSet(a.size)}, nil)
	case 'd':
		m := (*queue)[0]
		*queue = (*queue)[1:]
		a.depth[s.to] = max(a.depth[s.to], a.depths[m])
		if !m.gone.Has(s.to) {
			b.heard(s.from, m, nil)
		}
	}
	a.send(s.to)
}

// agreed checks that the remaining ranks agree. If nothing more can happen, it also checks that all
// of them know.
func (a *assembly) agreed(t require.TestingT, over bool) {
	var first *ballot
	for r, b := range a.ballots {
		if a.dead[r] {
			continue
		}
		if over {
			require.True(t, b.known, "rank %d knows", r)
		}
		if !b.known {
			continue
		}
		if first == nil {
			first = b
		}
		require.Equal(t, first.is, b.is, "rank %d", r)
		require.Equal(t, first.apart, b.apart, "rank %d", r)
		require.Equal(t, first.dead, b.dead, "rank %d", r)
		for of := range a.size { // every remaining rank has voted, and no gone rank counts
			require.True(t, a.dead[of] || !b.apart.Has(of))
			require.True(t, a.dead[of] || b.is.Flags>>of&1 == 0, "the vote of rank %d is missing", of)
			require.True(t, !b.dead.Lost.Has(of) || b.apart.Has(of))
		}
	}
}

// TestBallotInEveryOrder tries every order of votes, deliveries, deaths and notices among a few
// ranks.
func TestBallotInEveryOrder(t *testing.T) {
	all := []struct{ ranks, deaths int }{{2, 1}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}}
	for _, c := range heavy.Or(all[:len(all)-1], all) { // the last has more states than all others
		t.Run(fmt.Sprintf("%d ranks, %d deaths", c.ranks, c.deaths), func(t *testing.T) {
			seen, form := map[string]bool{}, deep.NewForm()
			type node struct {
				a      *assembly
				deaths int
			}
			stack := []node{{assemble(c.ranks), c.deaths}}
			for len(stack) > 0 {
				n := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				steps := n.a.steps(n.deaths)
				n.a.agreed(t, len(steps) == 0 || !slices.ContainsFunc(steps, func(s step) bool { return s.kind != 'k' }))
				for _, s := range steps {
					next := node{deep.Copy(form, n.a), n.deaths}
					if next.a.do(s); s.kind == 'k' {
						next.deaths--
					}
					if k := string(deep.Append(form, []byte{byte(next.deaths)}, next.a)); !seen[k] {
						seen[k] = true
						stack = append(stack, next)
					}
				}
			}
			t.Logf("%d states", len(seen))
		})
	}
}

// TestBallot has many ranks, and many of them die.
func TestBallot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 70).Draw(rt, "ranks")
		deaths := rapid.IntRange(0, size-1).Draw(rt, "deaths")
		a := assemble(size)
		random := rapid.IntRange(0, 1<<30)
		for {
			steps := a.steps(deaths)
			if !slices.ContainsFunc(steps, func(s step) bool { return s.kind != 'k' }) {
				break
			}
			s := steps[random.Draw(rt, "step")%len(steps)]
			if s.kind == 'k' {
				if random.Draw(rt, "lives")%4 > 0 {
					continue
				}
				deaths--
			}
			a.do(s)
		}
		a.agreed(rt, true)
	})
}

// While no rank dies, a ballot takes 2⌈log₂ ranks⌉ steps, and two messages for each rank except
// one.
func TestBallotSteps(t *testing.T) {
	for size := 1; size <= 70; size++ {
		a := assemble(size)
		for steps := a.steps(0); len(steps) > 0; steps = a.steps(0) {
			for _, s := range steps {
				a.do(s)
			}
		}
		a.agreed(t, true)
		require.Equal(t, 2*(size-1), a.sent)
		require.LessOrEqual(t, slices.Max(a.depth), 2*mathbits.Len(uint(size-1)), "%d ranks", size)
	}
}
