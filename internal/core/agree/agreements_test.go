package agree

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// known holds the facts of a rank.
type known struct {
	gone   Set
	losses Losses
	came   map[int]uint64
	in     []Answers
	doubts map[int]bool
}

func newFacts(size int) *known {
	return &known{gone: NewSet(size), losses: NewLosses(size), came: map[int]uint64{}, doubts: map[int]bool{}}
}

func (k *known) Gone() (Set, Losses)  { return k.gone, k.losses }
func (k *known) Came(rank int) uint64 { return k.came[rank] }
func (k *known) Answers() []Answers   { return k.in }
func (k *known) Doubts(rank int) bool { return k.doubts[rank] }

func (k *known) lose(rank int, silent bool) {
	k.gone.Add(rank)
	k.losses.Add(rank, silent)
}

// letter is a message under way.
type letter struct {
	from int
	Message
}

// club holds some ranks and the messages under way between them, in order for each pair.
type club struct {
	size   int
	ranks  []Agreements
	facts  []*known
	failed []bool
	dead   []bool
	way    []letter
}

func newClub(size int) *club {
	c := &club{size: size, failed: make([]bool, size), dead: make([]bool, size)}
	for rank := range size {
		c.ranks = append(c.ranks, New(rank, size))
		c.facts = append(c.facts, newFacts(size))
	}
	return c
}

// send puts the messages of a rank under way.
func (c *club) send(rank int) {
	for _, m := range c.ranks[rank].Messages() {
		c.way = append(c.way, letter{rank, m})
	}
}

func (c *club) vote(rank int, v Vote) uint64 {
	n := c.ranks[rank].Begin(c.facts[rank])
	c.ranks[rank].Vote(v, c.facts[rank])
	c.update(rank)
	return n
}

func (c *club) update(rank int) {
	if c.failed[rank] {
		c.ranks[rank].Open(c.facts[rank])
	}
	c.ranks[rank].Update(c.facts[rank], c.failed[rank])
	c.send(rank)
}

// deliver delivers message i of the messages under way.
func (c *club) deliver(i int) Verdict {
	l := c.way[i]
	c.way = slices.Delete(c.way, i, i+1)
	if c.dead[l.To] {
		return Old
	}
	v := c.ranks[l.To].Hear(l.from, l.Message, c.facts[l.To])
	if v == Heard && l.Ballot == 0 {
		c.failed[l.To] = true
	}
	c.send(l.To)
	c.update(l.To)
	return v
}

// deliverAll delivers all messages in the order in which they were sent.
func (c *club) deliverAll(t require.TestingT) {
	for len(c.way) > 0 {
		require.Contains(t, []Verdict{Heard, Old}, c.deliver(0))
	}
}

// Votes are combined, all ranks get the same outcome, and know that all know it.
func TestVotesAreCombined(t *testing.T) {
	c := newClub(5)
	for rank := range c.size {
		require.False(t, rank > 0 && c.ranks[rank-1].Confirmed())
		n := c.vote(rank, Vote{Flags: ^(1 << rank), Generation: uint32(rank)})
		require.EqualValues(t, 1, n)
	}
	c.deliverAll(t)
	for rank := range c.size {
		a := &c.ranks[rank]
		require.True(t, a.Confirmed())
		require.EqualValues(t, 1, c.vote(rank, Vote{}), "an outcome that the process has not taken is kept")
		o, ok := a.Outcome(1)
		require.True(t, ok)
		require.Equal(t, ^uint64(31), o.Flags)
		require.EqualValues(t, 4, o.Generation)
		require.Empty(t, o.Gone)
		require.EqualValues(t, 2, a.Begin(c.facts[rank]), "the next one")
		require.EqualValues(t, 2, a.Last())
		require.False(t, a.Confirmed())
		_, ok = a.Outcome(2)
		require.False(t, ok)
	}
}

// inOrder returns the messages that may be delivered next: the first of each pair of ranks.
func (c *club) inOrder() (next []int) {
	seen := map[[2]int]bool{}
	for i, l := range c.way {
		if pair := [2]int{l.from, l.To}; !seen[pair] {
			seen[pair] = true
			next = append(next, i)
		}
	}
	return next
}

// In every order of messages and for all deaths meanwhile, a rank gets the outcome of the ranks that
// are still alive. Once a living rank has confirmed an agreement or taken the next one, its outcome
// is fixed for all ranks, even if they die later. Until then, a rank that is dead may have
// had another outcome.
func TestAgreementsInARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 12).Draw(t, "ranks")
		c := newClub(size)
		deaths := rapid.IntRange(0, size-1).Draw(t, "deaths")
		rounds := rapid.Uint64Range(1, 3).Draw(t, "rounds")
		outcomes := map[uint64]map[int]Outcome{} // by agreement and rank
		fixed := map[uint64]Outcome{}
		choice := rapid.IntRange(0, 1<<30)
		for {
			var moves []func()
			took := false
			for rank := range size {
				a := &c.ranks[rank]
				for n, byRank := range outcomes {
					over := a.taken > n || a.taken == n && a.last == n && a.Confirmed()
					if o, ok := byRank[rank]; ok && over && !c.dead[rank] {
						if first, ok := fixed[n]; ok {
							require.Equal(t, first, o, "rank %d, agreement %d is fixed", rank, n)
						}
						fixed[n] = o
					}
				}
				switch {
				case c.dead[rank]:
				case a.last == a.taken && a.last < rounds:
					moves = append(moves, func() { c.vote(rank, Vote{Flags: ^(uint64(1) << rank)}) })
				case a.last > a.taken:
					if o, ok := a.Outcome(a.last); ok {
						if outcomes[a.last] == nil {
							outcomes[a.last] = map[int]Outcome{}
						}
						for q, first := range outcomes[a.last] {
							if !c.dead[q] {
								require.Equal(t, first, o, "ranks %d, %d, agreement %d", q, rank, a.last)
							}
						}
						if first, ok := fixed[a.last]; ok {
							require.Equal(t, first, o, "rank %d, agreement %d was fixed", rank, a.last)
						}
						outcomes[a.last][rank], took = o, true
					}
				}
			}
			for _, i := range c.inOrder() {
				moves = append(moves, func() { require.Contains(t, []Verdict{Heard, Old}, c.deliver(i)) })
			}
			if len(moves) == 0 && took {
				continue
			}
			if len(moves) == 0 {
				break
			}
			if deaths > 0 && choice.Draw(t, "dies")%8 == 0 {
				deaths--
				c.kill(t, choice.Draw(t, "who")%size)
				continue
			}
			moves[choice.Draw(t, "move")%len(moves)]()
		}
		for rank := range size {
			if !c.dead[rank] {
				require.EqualValues(t, rounds, c.ranks[rank].taken, "rank %d", rank)
				require.True(t, c.ranks[rank].Confirmed(), "rank %d", rank)
			}
		}
	})
}

// kill ends a rank. All its messages arrive before others notice.
func (c *club) kill(t require.TestingT, rank int) {
	if c.dead[rank] {
		return
	}
	for i := 0; i < len(c.way); {
		if c.way[i].from == rank {
			require.Contains(t, []Verdict{Heard, Old}, c.deliver(i))
			i = 0
			continue
		}
		i++
	}
	c.dead[rank] = true
	for other := range c.size {
		if !c.dead[other] {
			c.facts[other].lose(rank, false)
			c.update(other)
		}
	}
}

// Ranks that have failed each know some of the lost ranks. They agree on all lost ranks, on the
// number of their messages that have arrived, and on the ranks whose answers are in.
func TestLostRanks(t *testing.T) {
	c := newClub(6)
	c.dead[4], c.dead[5] = true, true
	for rank := range 4 {
		c.facts[rank].came[5] = uint64(10 + rank)
		c.facts[rank].in = []Answers{{Origin: 2, Seq: 7, Answered: []int{rank}}}
	}
	c.facts[0].lose(4, true)
	c.facts[3].lose(5, false)
	for _, rank := range []int{0, 3} {
		c.failed[rank] = true
		c.update(rank)
	}
	lost, came, in := c.ranks[0].Losses()
	require.Equal(t, []int{4}, lost.Lost.List(), "as far as it knows")
	require.Empty(t, came)
	require.Empty(t, in)
	require.False(t, c.ranks[0].LossesKnown())
	c.deliverAll(t)
	for rank := range 4 {
		require.True(t, c.ranks[rank].LossesKnown(), "rank %d", rank)
		lost, came, in := c.ranks[rank].Losses()
		require.Equal(t, []int{4, 5}, lost.Lost.List())
		require.Equal(t, []int{4}, lost.Silent.List())
		require.Equal(t, []Came{{5, 10, 13}}, came, "nobody has published but rank 5")
		require.Equal(t, []Answers{{2, 7, []int{0, 1, 2, 3}}}, in)
	}
	lost.Add(1, true)
	again, _, _ := c.ranks[0].Losses()
	require.Equal(t, []int{4, 5}, again.Lost.List(), "the sets are the caller's")
}

// The messages of lost ranks count, of the lowest ranks that have gone. Ranks that have left in good
// order, or have sent nothing, do not.
func TestMessagesOfLostRanks(t *testing.T) {
	const remain = 3
	for _, of := range []struct {
		size        int // all ranks from remain on have gone
		left, quiet int
		want        []Came
	}{
		{5, -1, -1, []Came{{3, 30, 32}, {4, 40, 42}}},
		{5, 3, -1, []Came{{4, 40, 42}}},
		{5, 4, -1, []Came{{3, 30, 32}}},
		{5, -1, 3, []Came{{4, 40, 42}}},
		{9, -1, -1, []Came{{3, 30, 32}, {4, 40, 42}, {5, 50, 52}, {6, 60, 62}}},
	} {
		c := newClub(of.size)
		for rank := range remain {
			f := c.facts[rank]
			for gone := remain; gone < of.size; gone++ {
				if c.dead[gone] = true; gone == of.left {
					f.gone.Add(gone)
				} else {
					f.lose(gone, false)
				}
				if gone != of.quiet {
					f.came[gone] = uint64(10*gone + rank)
				}
			}
			c.failed[rank] = true
			c.update(rank)
		}
		c.deliverAll(t)
		for rank := range remain {
			_, came, _ := c.ranks[rank].Losses()
			require.Equal(t, of.want, came, "rank %d", rank)
		}
	}
}

// A rank that says that all know the outcome is right, after every message.
func TestConfirmedMeansThatAllKnow(t *testing.T) {
	c := newClub(5)
	for rank := range c.size {
		c.vote(rank, Vote{})
		require.False(t, c.ranks[rank].Confirmed())
	}
	for len(c.way) > 0 {
		c.deliver(0)
		known := 0
		for rank := range c.size {
			if b := c.ranks[rank].find(1); b.known {
				known++
			}
		}
		for rank := range c.size {
			require.True(t, !c.ranks[rank].Confirmed() || known == c.size, "rank %d, with %d", rank, known)
		}
	}
}

// A rank does not vote on losses while it must find out how another rank has gone.
func TestDoubtHoldsTheVote(t *testing.T) {
	c := newClub(3)
	c.dead[2] = true
	c.facts[0].gone.Add(2)
	c.facts[1].doubts[2] = true
	c.failed[0] = true
	c.update(0)
	c.deliverAll(t)
	require.Equal(t, []int{2}, c.ranks[1].Doubted(c.facts[1]))
	require.False(t, c.ranks[0].LossesKnown())
	c.facts[1].lose(2, false)
	c.facts[1].doubts[2] = false
	c.update(1)
	c.deliverAll(t)
	for rank := range 2 {
		require.True(t, c.ranks[rank].LossesKnown())
		require.Empty(t, c.ranks[rank].Doubted(c.facts[rank]))
		lost, _, _ := c.ranks[rank].Losses()
		require.Equal(t, []int{2}, lost.Lost.List())
	}
}

// A rank that the others have taken for lost learns that, and why, from their messages.
func TestExcluded(t *testing.T) {
	for silent, want := range map[bool]Verdict{false: Excluded, true: Silent} {
		c := newClub(2)
		c.vote(1, Vote{})
		c.way = nil
		c.facts[0].lose(1, silent)
		c.vote(0, Vote{})
		require.True(t, c.ranks[0].Confirmed(), "nobody else is left")
		c.ranks[0].Remind([]int{1})
		require.Empty(t, c.ranks[0].Messages(), "all is known")
		c.ranks[0].Open(c.facts[0])
		c.update(0)
		c.ranks[0].Remind([]int{1})
		c.send(0)
		require.NotEmpty(t, c.way)
		require.Equal(t, want, c.deliver(0))
	}
}

// Messages of finished ballots do not count, and no rank can be two agreements ahead.
func TestBallotsOfOtherTimes(t *testing.T) {
	c := newClub(2)
	f := c.facts[0]
	call := (&content{kind: Call, losses: NewLosses(2), gone: NewSet(2)}).body(2)
	hear := func(ballot uint64) Verdict {
		return c.ranks[0].Hear(1, Message{Ballot: ballot, Kind: Call, Body: call}, f)
	}
	require.Equal(t, Heard, hear(0))
	require.Equal(t, Heard, hear(1), "the other has asked for it first")
	require.Equal(t, Unasked, hear(2))
	for range 3 {
		for rank := range 2 {
			c.vote(rank, Vote{})
		}
		c.deliverAll(t)
		for rank := range 2 {
			_, ok := c.ranks[rank].Outcome(c.ranks[rank].Last())
			require.True(t, ok)
		}
	}
	require.Equal(t, Old, hear(2))
	require.Equal(t, Heard, hear(3))
	require.Equal(t, Heard, hear(7))
	require.Equal(t, Unasked, hear(8))
}

// If ranks that have gone cut the tree, reminders carry the news of them round the ring.
func TestRemind(t *testing.T) {
	c := newClub(7)
	c.dead[0] = true
	for rank := 1; rank < c.size; rank++ {
		if rank != 3 {
			c.vote(rank, Vote{})
		}
	}
	c.deliverAll(t)
	c.facts[3].lose(0, false)
	c.ranks[3].Begin(c.facts[3])
	c.update(3)
	c.way = nil // as if all of its neighbours had gone
	knows := func() (n int) {
		for rank := 1; rank < c.size; rank++ {
			if gone, _ := c.ranks[rank].Said(1); gone.Has(0) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, knows())
	for range c.size {
		for rank := 1; rank < c.size; rank++ {
			c.ranks[rank].Remind([]int{1 + rank%6})
			c.send(rank)
		}
		c.deliverAll(t)
	}
	require.Equal(t, 6, knows())
	require.False(t, c.ranks[1].Confirmed())
	c.vote(3, Vote{})
	c.deliverAll(t)
	for rank := 1; rank < c.size; rank++ {
		require.True(t, c.ranks[rank].Confirmed())
		o, ok := c.ranks[rank].Outcome(1)
		require.True(t, ok)
		require.Equal(t, []int{0}, o.Lost)
	}
}

// A rank that leaves tells another which ranks are lost by agreement.
func TestBequeath(t *testing.T) {
	c := newClub(3)
	c.ranks[0].TellLost(1)
	require.Empty(t, c.ranks[0].Messages(), "nothing is known")
	c.facts[0].lose(2, false)
	c.dead[2], c.failed[0] = true, true
	c.update(0)
	for i := 0; i < len(c.way); {
		if c.way[i].from == 0 && c.way[i].Kind == Know {
			c.way = slices.Delete(c.way, i, i+1) // the outcome is lost
			continue
		}
		c.deliver(i)
		i = 0
	}
	require.True(t, c.ranks[0].LossesKnown())
	require.False(t, c.ranks[1].LossesKnown())
	c.ranks[0].TellLost(2)
	require.Empty(t, c.ranks[0].Messages(), "rank 2 is lost")
	c.ranks[0].TellLost(1)
	c.send(0)
	require.Equal(t, Heard, c.deliver(0))
	require.True(t, c.ranks[1].LossesKnown())
}

// A rank that others have taken for lost, and that still votes, is told so.
func TestLostRankThatVotesIsTold(t *testing.T) {
	c := newClub(3)
	c.vote(2, Vote{})
	c.facts[0].lose(2, false)
	c.vote(0, Vote{})
	c.vote(1, Vote{})
	vote := slices.IndexFunc(c.way, func(l letter) bool { return l.from == 2 && l.To == 0 })
	own := c.way[vote]
	c.way = nil
	require.Equal(t, Heard, c.ranks[0].Hear(own.from, own.Message, c.facts[0]))
	c.send(0)
	told := slices.IndexFunc(c.way, func(l letter) bool { return l.To == 2 })
	require.GreaterOrEqual(t, told, 0)
	require.Equal(t, Excluded, c.deliver(told))
}

// A rank that has sent its votes up reminds its parent, which may be dead.
func TestParentIsReminded(t *testing.T) {
	c := newClub(2)
	c.vote(1, Vote{})
	c.way = nil
	c.ranks[1].Remind(nil)
	c.send(1)
	require.Len(t, c.way, 1)
	require.Equal(t, 0, c.way[0].To)
}

// A ballot begins without the ranks that any other ballot knows to have gone, although this rank
// knows of them only from there.
func TestNewBallotKnowsWhoHasGone(t *testing.T) {
	c := newClub(3)
	c.facts[1].lose(2, true)
	c.vote(1, Vote{})
	c.dead[2] = true
	c.deliverAll(t)
	c.ranks[0].Open(newFacts(3))
	gone, losses := c.ranks[0].Said(0)
	require.Equal(t, []int{2}, gone.List())
	require.Equal(t, []int{2}, losses.Silent.List())
}
