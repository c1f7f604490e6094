package cast

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Lines come after 2, 6, 14, 30 and 62 seconds, then every minute, and none after stop.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // lines come from other goroutines
		var out bytes.Buffer
		asked := 0
		stop := waitingFor(func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&out, line)
		}, func() string {
			asked++
			return fmt.Sprint("answer ", asked)
		})
		at := func(pass time.Duration, want string) {
			t.Helper()
			time.Sleep(pass)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, want, out.String())
			out.Reset()
		}
		at(2*time.Second-1, "")
		at(1, "waiting for 2s: answer 1\n")
		at(4*time.Second, "waiting for 6s: answer 2\n")
		at(8*time.Second, "waiting for 14s: answer 3\n")
		at(48*time.Second, "waiting for 30s: answer 4\nwaiting for 1m2s: answer 5\n")
		at(time.Minute, "waiting for 2m2s: answer 6\n")
		at(time.Minute, "waiting for 3m2s: answer 7\n")
		stop()
		at(time.Hour, "")
	})
}

func TestSenderNews(t *testing.T) {
	s := &senderNews{at: "node0:7717"}
	require.Equal(t, "nobody has answered at node0:7717 so far", s.describe())
	s.note(errors.New("lookup node0: no such host"))
	require.Equal(t, "the sender at node0:7717 cannot be reached so far: lookup node0: no such host", s.describe())
	s.note(nil)
	require.Equal(t, "the sender at node0:7717 has let this host in, and waits for others or serves them", s.describe())
}

// A line names a few of many hosts.
func TestCrewWords(t *testing.T) {
	c := &crew{}
	for i := range 9 {
		c.hosts = append(c.hosts, &crewHost{name: fmt.Sprint("node", i), state: []hostState{hostRuns, hostOpens, hostEnded, hostCopies, hostWaits}[min(i, 4)]})
	}
	require.Equal(t, "1 of 9 hosts have come; node4, node5, node6, node7, node8: it waits for its turn to connect; node1: ssh has not connected; node3: it gets a copy of the program",
		c.describe([]string{"node0"}))
}
