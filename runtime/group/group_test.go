package group_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
)

func TestAlone(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	g := w.join()
	require.NoError(t, g.Publish(w.ctx, []byte("nobody hears")))
	comm, err := g.Advance(w.ctx)
	require.NoError(t, err)
	require.NoError(t, comm.Barrier(w.ctx))
	require.NoError(t, g.Leave(w.ctx))
	_, err = g.Next(w.ctx)
	require.ErrorIs(t, err, group.ErrLeft)
	require.NoError(t, g.Close())
}

func TestTwo(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	a := w.join()
	defer a.Close()
	require.NoError(t, a.Publish(w.ctx, []byte("too early for b")))
	b := w.join()
	defer b.Close()
	w.until(a, 2)
	require.NoError(t, a.Publish(w.ctx, []byte("hello")))
	msg, err := b.Next(w.ctx)
	require.NoError(t, err)
	require.Equal(t, group.Message{Origin: a.Self().ID, Epoch: b.View().Epoch, Seq: 1, Data: []byte("hello")}, msg)
	require.NoError(t, a.Leave(w.ctx))
	w.until(b, 1)
	require.NoError(t, b.Publish(w.ctx, nil))
}

// crowd is a group in which some members publish all the time and others come and go.
type crowd struct {
	*town
	wg     sync.WaitGroup
	groups []*group.Group
	logs   map[*group.Group]*log
}

func newCrowd(t *testing.T, members int, edit func(*group.Config)) *crowd {
	c := &crowd{town: newTown(t), logs: map[*group.Group]*log{}}
	c.edit = edit
	for _, g := range c.joinAll(members) {
		c.add(g)
	}
	return c
}

func (c *crowd) add(g *group.Group) {
	c.groups = append(c.groups, g)
	c.logs[g] = listen(c.town, &c.wg, g)
}

func (c *crowd) close() {
	for _, g := range c.groups {
		g.Close()
	}
	c.wg.Wait()
}

// publish makes g publish n messages.
func (c *crowd) publish(g *group.Group, n int) {
	for i := range n {
		if err := g.Publish(c.ctx, numbered(i)); err != nil {
			c.t.Errorf("message %d: %v", i, err)
			return
		}
	}
}

// settle makes each live member publish one more message after the sent messages, and waits until
// the others have taken it, and so all earlier messages.
func (c *crowd) settle(live []*group.Group, sent ...int) {
	for i, g := range live {
		require.NoError(c.t, g.Publish(c.ctx, numbered(sent[i])))
	}
	for i, g := range live {
		for _, other := range live {
			if other != g {
				require.NoError(c.t, c.logs[other].reach(c.ctx, g.Self().ID, sent[i]))
			}
		}
	}
}

// Members join and leave while others publish 10,000 messages. Every member that stays receives all
// of them, in order, once, and a new member receives nothing older.
func TestChangesWhilePublishing(t *testing.T) {
	defer goleak.VerifyNone(t)
	const members, publishers, messages = 8, 2, 5000
	c := newCrowd(t, members, nil)
	defer c.close()
	var publishing sync.WaitGroup
	for _, g := range c.groups[:publishers] {
		publishing.Go(func() { c.publish(g, messages) })
	}
	stay := c.groups[:4:4]
	joined := map[*group.Group]uint32{}
	for i := range 3 {
		g := c.join()
		joined[g] = g.View().Epoch
		c.add(g)
		leaver := c.groups[4+i]
		require.NoError(t, leaver.Leave(c.ctx))
	}
	publishing.Wait()
	for _, origin := range c.groups[:publishers] {
		id := origin.Self().ID
		for _, g := range stay {
			if g == origin {
				continue
			}
			require.NoError(t, c.logs[g].await(c.ctx, id, messages))
			all := c.logs[g].messages(id)
			require.Len(t, all, messages)
			require.Zero(t, all[0].Seq)
			gapless(t, all)
		}
		whole := c.logs[stay[3]].messages(id)
		for g, epoch := range joined {
			require.Equal(t, from(whole, epoch), settled(c, g, id, from(whole, epoch)), "who joined in epoch %d", epoch)
		}
		for _, g := range c.groups[4:7] { // a member that left has everything up to its last epoch
			gapless(t, c.logs[g].messages(id))
			require.Equal(t, whole[:len(c.logs[g].messages(id))], c.logs[g].messages(id))
		}
	}
}

// from returns the messages of epoch and later epochs.
func from(messages []group.Message, epoch uint32) []group.Message {
	for i, m := range messages {
		if m.Epoch >= epoch {
			return messages[i:]
		}
	}
	return nil
}

// settled returns the messages that g has received from id, when there are as many as in wanted.
func settled(c *crowd, g *group.Group, id membership.ID, wanted []group.Message) []group.Message {
	require.NoError(c.t, c.logs[g].await(c.ctx, id, len(wanted)))
	return c.logs[g].messages(id)
}

// Members die while they and others publish. The members that stay have received the same messages
// of each origin, in order, once, and all messages of living members.
func TestDeathsWhilePublishing(t *testing.T) {
	defer goleak.VerifyNone(t)
	const members, messages = 6, 3000
	c := newCrowd(t, members, impatient)
	defer c.close()
	var publishing sync.WaitGroup
	publishing.Go(func() { c.publish(c.groups[3], messages) })
	for _, g := range []*group.Group{c.groups[0], c.groups[5]} { // one of them is the manager
		publishing.Go(func() {
			for i := 0; g.Publish(c.ctx, numbered(i)) == nil; i++ {
			}
		})
		require.NoError(t, c.logs[c.groups[2]].await(c.ctx, g.Self().ID, 300))
		group.Die(g)
		for _, other := range c.groups[1:5] {
			if g == c.groups[0] {
				c.until(other, 5)
			} else {
				c.until(other, 4)
			}
		}
	}
	publishing.Wait()
	live := c.groups[1:5]
	c.settle(live, 0, 0, messages, 0)
	for _, origin := range c.groups {
		id := origin.Self().ID
		var first []group.Message
		for _, g := range live {
			if g == origin {
				continue
			}
			got := c.logs[g].messages(id)
			gapless(t, got)
			if first == nil {
				first = got
			}
			require.Equal(t, len(first), len(got), "of one that has died all have the same")
		}
	}
}

// worker runs collective operations until rank 0 says that it is enough. It returns the number of
// ranks in each operation.
func worker(c *town, g *group.Group, enough func() bool) (sizes []int, err error) {
	for {
		comm, err := g.Advance(c.ctx)
		if err != nil {
			return sizes, err
		}
		sizes = append(sizes, comm.Size())
		var last [1]byte
		if comm.Rank() == 0 && enough() {
			last[0] = 1
		}
		err = comm.Barrier(c.ctx)
		if err == nil {
			err = comm.Bcast(c.ctx, last[:], 0)
		}
		switch {
		case err == nil && last[0] == 1:
			return sizes, nil
		case err != nil && c.ctx.Err() != nil:
			return sizes, err
		}
	}
}

// Members come while others run collective operations, and one dies. All go on with the same ranks.
func TestAdvance(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	w.edit = impatient
	groups := w.joinAll(4)
	var wg sync.WaitGroup
	var enough atomic.Bool
	work := func(g *group.Group) {
		wg.Go(func() {
			sizes, err := worker(w, g, enough.Load)
			if err != nil || sizes[len(sizes)-1] != 5 {
				t.Errorf("after %v: %v", sizes, err)
			}
		})
	}
	for _, g := range groups[:3] {
		work(g)
	}
	wg.Go(func() { worker(w, groups[3], func() bool { return false }) }) // it dies
	for range 2 {
		g := w.join()
		groups = append(groups, g)
		work(g)
	}
	group.Die(groups[3])
	for _, g := range []*group.Group{groups[0], groups[1], groups[2], groups[4], groups[5]} {
		w.until(g, 5)
	}
	enough.Store(true)
	wg.Wait()
	for _, g := range groups {
		g.Close()
	}
}

var errFirst = errors.New("not tried yet")

// A communicator that failed by a deadline is replaced by a communicator with the same members.
func TestAdvanceAfterFailure(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	groups := w.joinAll(3)
	var wg sync.WaitGroup
	for i, g := range groups {
		wg.Go(func() {
			comm, err := g.Advance(w.ctx)
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
			defer cancel()
			if i > 0 {
				if err := comm.Barrier(ctx); err == nil {
					t.Error("a barrier that not all have entered")
				}
			}
			for err = errFirst; err != nil && w.ctx.Err() == nil; { // rank 0 may find only now that it has failed
				if comm, err = g.Advance(w.ctx); err == nil {
					err = comm.Barrier(w.ctx)
				}
			}
			if err != nil || comm.Size() != 3 {
				t.Errorf("rank %d goes on: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, g := range groups {
		g.Close()
	}
}

// A member that does not take its messages blocks publishers, and loses nothing when views change.
func TestSlowTaker(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	w.edit = func(cfg *group.Config) { cfg.Comm.PublishWindow = 4 }
	a, slow := w.join(), w.join()
	w.until(a, 2)
	var sent int
	for {
		ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
		err := a.Publish(ctx, numbered(sent))
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			break
		}
		sent++
	}
	require.Less(t, sent, 30)
	b := w.join()
	w.until(a, 3)
	for i := range sent {
		msg, err := slow.Next(w.ctx)
		require.NoError(t, err)
		require.Equal(t, numbered(i), msg.Data)
	}
	require.NoError(t, a.Publish(w.ctx, numbered(sent)))
	for _, g := range []*group.Group{slow, b} {
		msg, err := g.Next(w.ctx)
		require.NoError(t, err)
		require.EqualValues(t, sent, msg.Seq)
	}
	for _, g := range []*group.Group{a, slow, b} {
		require.NoError(t, g.Close())
	}
}

func TestBadInput(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newTown(t)
	for want, edit := range map[string]func(*group.Config){
		"Config.Name has 65 bytes":         func(cfg *group.Config) { cfg.Name = string(make([]byte, 65)) },
		"Config.Connect is missing":        func(cfg *group.Config) { cfg.Connect = nil },
		"is negative":                      func(cfg *group.Config) { cfg.Grace = -1 },
		"Config.Comm: PublishWindow -1":    func(cfg *group.Config) { cfg.Comm.PublishWindow = -1 },
		"listen tcp":                       func(cfg *group.Config) { cfg.Address = "nowhere" },
		`others cannot use the address "[`: func(cfg *group.Config) { cfg.Address = ":0" },
	} {
		cfg := w.config()
		edit(&cfg)
		_, err := group.Join(w.ctx, cfg)
		require.ErrorContains(t, err, want)
	}
	w.seeds = nil
	g := w.join()
	defer g.Close()
	require.ErrorIs(t, g.Publish(w.ctx, make([]byte, 2<<20)), runtime.ErrTooLarge)
}
