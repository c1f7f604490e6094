package mcast_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
)

// memberships returns how many of this package's groups the system is in. The network namespace
// must have no other users.
func memberships(t testing.TB) (n int) {
	for file, ours := range map[string]func(fields []string) bool{
		"/proc/net/igmp":  func(f []string) bool { return len(f[0]) == 8 && strings.HasSuffix(f[0], "EF") }, // 239, in the host's order of bytes
		"/proc/net/igmp6": func(f []string) bool { return len(f) > 2 && strings.HasPrefix(f[2], "ff15") },
	} {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if fields := strings.Fields(s.Text()); len(fields) > 0 && ours(fields) {
				n++
			}
		}
	}
	return n
}

func descriptors(t testing.TB) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// testGroupsFreed: the system is in a group for each communicator, although it lets a socket be in
// only 20. After the communicators are closed it is in no group. It runs in a namespace.
func testGroupsFreed(t *testing.T) {
	for name, cfg := range map[string]mcast.Config{"lo/6": {Interface: "lo", Family: 6}, "va/4": {Interface: "va", Family: 4}, "va/6": {Interface: "va", Family: 6}} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, memberships(t))
			comms := communicators(t, 4, cfg)
			require.Equal(t, 1, memberships(t))
			before := descriptors(t)
			var open [][]*runtime.Comm
			splits := 25
			if name != "va/4" {
				splits = 3 // as for va/4, except for the addresses
			}
			for range splits {
				open = append(open, derive(t, comms, parity))
				require.Equal(t, 1+2*len(open), memberships(t))
			}
			for i, children := range open {
				closeAll(t, children)
				require.Equal(t, 1+2*(len(open)-i-1), memberships(t))
			}
			derived := derive(t, comms, together)
			require.Equal(t, 2, memberships(t))
			closeAll(t, comms)
			require.Equal(t, 2, memberships(t), "the last communicator closes the transport")
			closeAll(t, derived)
			require.Zero(t, memberships(t))
			require.Less(t, descriptors(t), before)
		})
	}
}

// testFewDescriptors: a process with few descriptors left keeps them for its most important uses.
func testFewDescriptors(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	few := limit
	few.Cur = 200
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
	comms := communicators(t, 3, mcast.Config{Interface: "va", Family: 4})
	var open [][]*runtime.Comm
	for shared := ""; shared == ""; shared = open[len(open)-1][0].State().Shared {
		require.Less(t, len(open), 30)
		open = append(open, derive(t, comms, together))
	}
	t.Logf("%d communicators with groups, and then: %s", len(open)-1, open[len(open)-1][0].State().Shared)
	require.Greater(t, len(open), 3)
	open = append(open, derive(t, comms, together))
	for _, children := range open {
		closeAll(t, children)
	}
}
