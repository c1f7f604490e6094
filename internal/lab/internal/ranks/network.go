//go:build linux

package ranks

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"syscall"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// Network is a network of hosts: each is a network namespace, and a bridge in another namespace
// connects them. The namespaces have no names, so they end with the network and the processes in
// them.
type Network struct {
	bridge *namespace
	hosts  []*namespace
}

// Interface is the name of the network interface of a host.
const Interface = "eth0"

// CheckNetwork returns an error if NewNetwork lacks root or a program. loss says that frames are to be
// lost.
func CheckNetwork(loss bool) error {
	if os.Getuid() != 0 {
		return errors.New("only root makes network namespaces")
	}
	return netns.Missing(loss)
}

// NewNetwork makes a network. It loses frames to each host with the given probability.
func NewNetwork(hosts int, loss float64) (*Network, error) {
	if err := CheckNetwork(loss > 0); err != nil {
		return nil, err
	}
	bridge, err := newNamespace()
	if err != nil {
		return nil, err
	}
	n := &Network{bridge: bridge}
	if err := n.Bridge(netns.BridgeCommands(loss)...); err != nil {
		n.Close()
		return nil, err
	}
	for host := range hosts {
		if err := n.add(host, hosts, loss > 0); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// add makes a host. Frames that are lost are as long as the wire's.
func (n *Network) add(host, hosts int, wire bool) error {
	ns, err := newNamespace()
	if err != nil {
		return err
	}
	n.hosts = append(n.hosts, ns)
	if err := n.Bridge(netns.PortCommands(netns.Link{}, host, ns.thread)...); err != nil {
		return err
	}
	err = ns.do(func() error { return netns.Execute(netns.HostCommands(netns.Link{}, host, hosts)) })
	if err != nil || !wire {
		return err
	}
	return errors.Join(
		n.bridge.do(func() error { return netns.OffloadsOff(netns.Port(host)) }),
		ns.do(func() error { return netns.OffloadsOff(Interface) }))
}

// Bridge executes commands in the namespace of the bridge, br0. [netns.Port] names a host's port.
func (n *Network) Bridge(commands ...string) error {
	return n.bridge.do(func() error { return netns.Execute(commands) })
}

// at calls f on a host, or on this host if n is nil. Processes that f starts run there.
func (n *Network) at(host int, f func() error) error {
	if n == nil {
		return f()
	}
	return n.hosts[host].do(f)
}

// Close ends the network when its processes have ended. Processes that still run are killed.
func (n *Network) Close() {
	if n == nil {
		return
	}
	for _, ns := range append(n.hosts, n.bridge) {
		close(ns.calls)
	}
}

// namespace is a network namespace and the thread in it.
type namespace struct {
	thread int
	calls  chan func()
}

// newNamespace makes a namespace. Its thread ends when calls is closed.
func newNamespace() (*namespace, error) {
	ns := &namespace{calls: make(chan func())}
	made := make(chan error)
	go func() {
		goruntime.LockOSThread() // for good: the thread ends with the goroutine
		ns.thread = syscall.Gettid()
		err := syscall.Unshare(syscall.CLONE_NEWNET)
		made <- err
		if err != nil {
			return
		}
		for call := range ns.calls {
			call()
		}
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return ns, nil
}

// do calls f on the thread of the namespace.
func (ns *namespace) do(f func() error) error {
	result := make(chan error)
	ns.calls <- func() { result <- f() }
	return <-result
}
