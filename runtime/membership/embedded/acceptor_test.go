package embedded

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/membership"
)

// bid is one attempt of a member to decide the next view.
type bid struct {
	rank    int
	ballot  ballot
	value   membership.View
	prepare *poll // nil: not needed
	accept  *poll // nil: not reached yet
}

// council is the members of one view. Their messages are delivered in any order or lost, and
// members die.
type council struct {
	base      membership.View
	acceptors []acceptor
	dead      []bool
	next      []ballot // by rank: the ballot of its next bid
	bids      []*bid
	decided   []*bid
	values    uint32
}

func newCouncil(size int) *council {
	c := &council{base: membership.View{Epoch: 7}, acceptors: make([]acceptor, size), dead: make([]bool, size), next: make([]ballot, size)}
	for rank := range size {
		c.base.Members = append(c.base.Members, membership.Member{ID: membership.ID{byte(rank + 1)}})
		c.next[rank] = ballot(rank)
	}
	return c
}

func (c *council) begin(rank int) {
	c.values++
	b := &bid{rank: rank, ballot: c.next[rank], value: membership.View{Epoch: 8, Members: c.base.Members[:c.values%uint32(len(c.dead)+1)]}}
	c.next[rank] += ballot(len(c.dead))
	if b.ballot > 0 {
		b.prepare = newPoll(len(c.dead))
	} else {
		b.accept = newPoll(len(c.dead))
	}
	c.bids = append(c.bids, b)
	c.say(b, rank, false) // a bidder asks itself first, see round
}

// say makes b ask a member; the answer may be lost.
func (c *council) say(b *bid, to int, lost bool) {
	p := b.accept
	if p == nil {
		p = b.prepare
	}
	var a answer
	switch {
	case c.dead[to]:
		p.gone[to] = !lost
		return
	case b.accept == nil:
		a = c.acceptors[to].prepare(c.base, b.ballot)
	default:
		a = c.acceptors[to].accept(c.base, b.ballot, b.value)
	}
	if !lost {
		p.count(to, a)
	}
}

// ask makes b ask a member, and goes on with b. A member only goes on with its last bid, but
// questions of an earlier bid may come late.
func (c *council) ask(b *bid, to int, lost bool) {
	current := true
	for _, later := range c.bids[slices.Index(c.bids, b)+1:] {
		current = current && later.rank != b.rank
	}
	c.say(b, to, lost || !current)
	if current {
		c.advance(b)
	}
}

// advance goes on with b if enough members agree.
func (c *council) advance(b *bid) {
	switch {
	case b.accept == nil && b.prepare.enough(true):
		if b.prepare.accepted != nil {
			b.value = b.prepare.accepted.View
		}
		b.accept = newPoll(len(c.dead))
		c.say(b, b.rank, false)
	case b.accept != nil && b.accept.enough(true):
		c.decided = append(c.decided, b)
	}
}

// split describes an error: two values are decided, and a living member has accepted the first.
func (c *council) split() string {
	for i, first := range c.decided {
		for _, second := range c.decided[i+1:] {
			if first.value.Digest() == second.value.Digest() {
				continue
			}
			for rank, yes := range first.accept.yes {
				if yes && !c.dead[rank] {
					return fmt.Sprintf("ballots %d and %d have decided differently, and rank %d lives, which has accepted the first", first.ballot, second.ballot, rank)
				}
			}
		}
	}
	return ""
}

func TestOneViewIsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(t, "size")
		c := newCouncil(size)
		rank := rapid.IntRange(0, size-1)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 19).Draw(t, "what"); {
			case what == 0 && len(c.decided) == 0:
				c.dead[rank.Draw(t, "dies")] = true
			case what < 3 || len(c.bids) == 0:
				if r := rank.Draw(t, "bids"); !c.dead[r] {
					c.begin(r)
				}
			default:
				b := c.bids[rapid.IntRange(0, len(c.bids)-1).Draw(t, "bid")]
				if !c.dead[b.rank] {
					c.ask(b, rank.Draw(t, "to"), rapid.IntRange(0, 4).Draw(t, "lost") == 0)
				}
			}
			if wrong := c.split(); wrong != "" {
				t.Fatal(wrong)
			}
		}
	})
}

func TestEnough(t *testing.T) {
	for _, c := range []struct {
		answers string // by rank: y yes, n no or no answer yet, g gone
		early   bool
		all     bool
	}{
		{"y", true, true}, {"n", false, false},
		{"yn", false, true}, {"ny", false, false}, {"gy", true, true}, {"yg", true, true},
		{"yyn", true, true}, {"nny", false, false}, {"ngy", false, false}, {"ggy", true, true},
		{"ynny", false, true}, {"nyyn", false, false}, {"gyyn", false, false}, {"gyyg", true, true},
		{"gg", false, false},
	} {
		p := newPoll(len(c.answers))
		for rank, a := range c.answers {
			p.yes[rank], p.gone[rank] = a == 'y', a == 'g'
		}
		require.Equal(t, c.early, p.enough(false), c.answers)
		require.Equal(t, c.all, p.enough(true), c.answers)
	}
}
