package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/membership"
)

// A process that is started at once at the address of a dead member is not taken for it: the dead
// member is removed, and the new one joins.
func TestRestartAtTheSameAddress(t *testing.T) {
	for size := 2; size <= 4; size++ {
		for rank := range size {
			t.Run(fmt.Sprintf("%d of %d", rank, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var slow atomic.Bool
					c := newCrew(t, size, around(func(_ context.Context, _ int, dial func() (net.Conn, error)) (net.Conn, error) {
						if slow.Load() {
							time.Sleep(100 * time.Millisecond)
						}
						return dial()
					}))
					slow.Store(true) // so that no connection is refused
					c.managers[rank].Die()
					m := c.enter(rank, c.plugs[rank].again())
					want := append(append(append([]membership.Member{}, c.members[:rank]...), c.members[rank+1:size]...), c.members[size])
					c.see(m, want)
					for other, of := range c.managers[:size] {
						if other != rank {
							c.see(of, want)
						}
					}
				})
			})
		}
	}
}

// A process that answers in place of a member does not vote for it.
func TestNoProcessVotesForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1, nil)
		base := fmt.Sprintf(`"base":{"epoch":7,"members":[{"id":%q,"address":"a:1"}]}`, membership.NewID())
		for i, q := range []string{`"kind":"prepare",` + base, `"kind":"accept",` + base + `,"next":{"epoch":8,"members":[]}`, `"kind":"ping"`, `"kind":"attach"`} {
			group := strings.Repeat("other", i%2) // of this or another group
			conn, err := c.plugs[0].dial(c.ctx, "", c.seeds[0])
			require.NoError(t, err)
			fmt.Fprintf(conn, `{"version":1,"group":%q,"to":%q,%s}`+"\n", group, membership.NewID(), q)
			answer, err := bufio.NewReader(conn).ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, answer, `"other":true`, q)
			require.NotContains(t, answer, `"ok"`, q)
			conn.Close()
		}
		c.see(c.managers[0], c.members)
	})
}

// A process that asks and does not take the answer is not served for ever.
func TestAnswerThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1, nil)
		conn, err := c.plugs[0].dial(c.ctx, "", c.seeds[0])
		require.NoError(t, err)
		fmt.Fprintln(conn, `{"version":1,"group":"","kind":"ping"}`)
		time.Sleep(time.Minute)
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

// If the manager cannot make a change now, since too few members answer it, it is asked again.
func TestReportOutlastsTheManagersTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alone atomic.Bool
		errAlone := errors.New("not now")
		c := newCrew(t, 3, around(func(_ context.Context, rank int, dial func() (net.Conn, error)) (net.Conn, error) {
			if rank == 0 && alone.Load() {
				return nil, errAlone
			}
			return dial()
		}))
		c.see(c.managers[2], c.members)
		v, err := c.managers[2].Watch(c.ctx, 0)
		require.NoError(t, err)
		alone.Store(true)
		time.AfterFunc(5*time.Second, func() { alone.Store(false) })
		require.NoError(t, c.managers[2].Report(c.ctx, v.Epoch))
		next, err := c.managers[2].Watch(c.ctx, v.Epoch)
		require.NoError(t, err)
		require.Equal(t, v.Members, next.Members)
	})
}
