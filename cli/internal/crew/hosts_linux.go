package crew

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// network is a network of simulated hosts: each is a network namespace, and a bridge in another
// namespace connects them. The namespaces have no names, so they end with the processes in them.
type network struct {
	size   int // number of ranks
	hosts  int
	made   int      // hosts made so far
	bridge *os.File // namespace of the bridge
}

// newNetwork makes the bridge. It moves the current thread, to which the goroutine must be locked,
// to another namespace for good.
func newNetwork(ranks, hosts int) (*network, error) {
	n := &network{size: ranks, hosts: hosts}
	if err := unshare(); err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("--netns: %w", err)
	}
	n.bridge = f
	if err := execute(netns.BridgeCommands(0)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return n, nil
}

func (n *network) close() error {
	if n == nil {
		return nil
	}
	return n.bridge.Close()
}

// enter moves the current thread, and the processes that it starts, to the host of a rank. It must
// be called for the ranks in order.
func (n *network) enter(rank int) error {
	if n == nil || rank*n.hosts/n.size < n.made {
		return nil
	}
	if err := unshare(); err != nil {
		return err
	}
	n.made++
	return execute(netns.JoinCommands(n.made-1, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.bridge.Fd())))
}

// HostsCoordinator is the address where the ranks of such a network meet, on the first host.
const HostsCoordinator = "10.77.0.1:7777"

func unshare() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return fmt.Errorf("--netns: make a network namespace: %w", err)
	}
	return nil
}

// execute runs commands in the namespace of the current thread.
func execute(commands []string) error {
	if err := netns.Execute(commands); err != nil {
		return fmt.Errorf("--netns: %w", err)
	}
	return nil
}
