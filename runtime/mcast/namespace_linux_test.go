package mcast_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// network is the setup of that namespace. Multicast in IPv6 on a loopback interface needs a route
// that machines do not have by default.
const network = `link set lo up
-6 route add local ff00::/8 dev lo
link add va type veth peer name vb
link set va up
link set vb up
address add 10.77.0.1/24 dev va
address add fd77::1/64 dev va nodad
link add vc type veth peer name vd`

// TestNamespace runs itself again in a namespace, and tests features there that the machine's own
// network may not have.
func TestNamespace(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	for line := range strings.Lines(network) {
		out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		require.NoError(t, err, "ip %s: %s", line, out)
	}
	for name, cfg := range map[string]mcast.Config{
		"lo/6": {Interface: "lo", Family: 6},
		"va/4": {Interface: "va", Family: 4},
		"va/6": {Interface: "va", Family: 6},
	} {
		t.Run(name, func(t *testing.T) { transporttest.Frames(t, connect(cfg)) })
	}
	if heavy.Tests() && !testing.Short() { // as TestComm, except for the addresses
		t.Run("Comm", func(t *testing.T) { transporttest.CommSample(t, connect(mcast.Config{Interface: "lo", Family: 6})) })
	}
	t.Run("Datagrams", testSmallestDatagram)
	t.Run("Unusable", testUnusableInterfaces)
	t.Run("Groups", testGroupsFreed)
	t.Run("FewDescriptors", testFewDescriptors)
}

func testUnusableInterfaces(t *testing.T) {
	for want, cfg := range map[string]mcast.Config{
		"interface vc is down":            {Interface: "vc"},
		"interface vb has no IPv4 addres": {Interface: "vb", Family: 4},
	} {
		cfg.TCP = tcp.Config{Size: 1, Coordinator: "127.0.0.1:1"}
		_, err := mcast.Join(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}

// testSmallestDatagram checks that the smallest MTU decides for all ranks.
func testSmallestDatagram(t *testing.T) {
	trs, errs := tryJoin(t, 3, mcast.Config{Interface: "va"}, func(rank int, c *mcast.Config) { c.MTU = 1500 - rank })
	for rank, tr := range trs {
		require.NoError(t, errs[rank])
		require.Equal(t, 1498-28-48, tr.Caps().Datagram)
		require.Equal(t, "va", tr.Interface())
		require.NoError(t, tr.Close(true, patience))
	}
}

func runInNamespace(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip command to build a network with")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNamespace$", "-test.timeout=300s", fmt.Sprint("-test.short=", testing.Short()))
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		root := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = root(os.Getuid()), root(os.Getgid())
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("no network namespace for this user: %v", err)
	}
	require.NoError(t, cmd.Wait(), "%s", &out)
}
