package cli

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/hosttest"
)

// countMulticasts prints how many multicasts a host has sent.
const countMulticasts = `awk '/^IpExt/ { for (i = 2; i <= NF; i++) if ($i == "OutMcastPkts") at = i; else if (i == at && $i + 0 == $i) print "multicasts:", $i }' /proc/net/netstat`

// TestGroupNetwork runs groups with a member on each of three hosts. With --interface the members
// multicast their messages and broadcasts.
func TestGroupNetwork(t *testing.T) {
	if !hosttest.Apart(t) {
		return
	}
	hosttest.Shell(t, hosttest.Bridge)
	exe, err := os.Executable()
	require.NoError(t, err)
	const messages = 30
	for _, verb := range []string{"anycast --messages", "bcast --size 1KiB --iterations"} {
		for _, multicasts := range []bool{false, true} {
			t.Run(fmt.Sprint(verb, multicasts), func(t *testing.T) {
				flags := ""
				if multicasts {
					flags = "--interface eth0"
				}
				var hosts []*hosttest.Host
				for i := range 3 {
					hosts = append(hosts, hosttest.Start(t, i+1, "", fmt.Sprintf(
						"(exec -a schedgen %s group %s %d prices --manager embedded://10.77.0.1:7100,10.77.0.2:7100,10.77.0.3:7100 --label h%d --members 3 --every 10ms %s)",
						exe, verb, messages, i, flags), countMulticasts))
				}
				sent := 0
				for _, h := range hosts {
					said := h.Wait(0)
					require.NotContains(t, said, "WRONG")
					n, err := strconv.Atoi(regexp.MustCompile(`multicasts: (\d+)`).FindStringSubmatch(said)[1])
					require.NoError(t, err)
					sent += n
				}
				require.Equal(t, multicasts, sent >= messages, "%d multicasts", sent)
			})
		}
	}
}

// TestGroupOfACutNetwork cuts a group of four in two halves. The half without the first member loses
// its manager, and the half with it goes on.
func TestGroupOfACutNetwork(t *testing.T) {
	cutGroup(t, "--messages 0", func(h *hosttest.Host) {
		h.Sees(regexp.MustCompile(`view \d+: h0 h1 \(.*lost\)`)) // both at once, or one after the other
	})
}

// TestQuorumOfACutNetwork is the same with a quorum, which neither half has.
func TestQuorumOfACutNetwork(t *testing.T) {
	cutGroup(t, "--quorum", func(h *hosttest.Host) {
		require.Contains(t, h.Wait(1), "too few ranks are left: view")
	})
}

// cutGroup cuts a group, and calls half for each host of the half with the first member. Each test
// needs a network of its own: hosts of an earlier one may still answer at the same addresses.
func cutGroup(t *testing.T, flags string, half func(*hosttest.Host)) {
	if !hosttest.Apart(t) {
		return
	}
	hosttest.Shell(t, hosttest.Bridge+"ip link add br1 type bridge stp_state 0\nip link set br1 up\n")
	exe, err := os.Executable()
	require.NoError(t, err)
	var hosts []*hosttest.Host
	for i := range 4 {
		hosts = append(hosts, hosttest.Start(t, i+1, "", fmt.Sprintf(
			"exec -a schedgen %s group anycast prices --manager embedded://10.77.0.1:7100,10.77.0.2:7100 --label h%d --every 100ms --silence 5s %s",
			exe, i, flags)))
	}
	for _, h := range hosts {
		h.Sees(regexp.MustCompile(`view \d+: h0( h\d){3}`))
	}
	hosts[2].Move("br1")
	hosts[3].Move("br1")
	half(hosts[0])
	half(hosts[1])
	for _, h := range hosts[2:] {
		require.Contains(t, h.Wait(1), "membership manager lost")
	}
}
