package group_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/etcdtest"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
)

// Four members over TCP with etcd as the manager all publish. One dies and one joins. The members
// that stay have the same messages of each origin, in order, once. The new member has the messages
// from its first view on.
func TestOverEtcd(t *testing.T) {
	defer goleak.VerifyNone(t)
	const messages = 500
	server := etcdtest.Start(t)
	c := &crowd{town: newTown(t), logs: map[*group.Group]*log{}}
	c.edit = impatient
	c.manage = func() (membership.Manager, error) {
		return etcd.New(etcd.Config{Endpoints: []string{server.URL()}, Prefix: "g", TTL: ttl})
	}
	defer c.close()
	for _, g := range c.joinAll(4) {
		c.add(g)
	}
	var publishing sync.WaitGroup
	for _, g := range c.groups[:3] {
		publishing.Go(func() { c.publish(g, messages) })
	}
	dies := c.groups[3]
	publishing.Go(func() {
		for i := 0; dies.Publish(c.ctx, numbered(i)) == nil; i++ {
		}
	})
	require.NoError(t, c.logs[c.groups[0]].await(c.ctx, dies.Self().ID, 50))
	group.Die(dies)
	for _, g := range c.groups[:3] {
		c.until(g, 3)
	}
	joins := c.join()
	came := joins.View().Epoch
	c.add(joins)
	publishing.Wait()
	stay := c.groups[:3]
	c.settle(append(stay[:3:3], joins), messages, messages, messages, 0)
	for i, origin := range c.groups {
		id := origin.Self().ID
		all := c.logs[stay[(i+1)%3]].messages(id)
		gapless(t, all)
		for _, g := range stay {
			if g != origin {
				require.Equal(t, all, c.logs[g].messages(id), "messages of member %d", i)
			}
		}
		if origin != joins {
			require.Equal(t, from(all, came), c.logs[joins].messages(id), "messages of member %d at who has joined", i)
		}
	}
	require.Len(t, c.logs[stay[1]].messages(stay[0].Self().ID), messages+1)
}
