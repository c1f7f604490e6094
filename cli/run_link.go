package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
)

// link chooses how the ranks reach each other. announce prints the choice, unless a flag named it.
// datagram is the payload of a multicast datagram in bytes, or 0 without multicast.
func (f *runFlags) link(ctx context.Context, std terminal.Stdio) (l crew.Link, datagram int, err error) {
	f.dropIdle(std)
	l = crew.Link{Transport: f.Transport, Coordinator: f.Coordinator, Interface: f.Interface, Device: f.Device, IPv6: f.IPv6, Seed: f.Seed}
	if f.Loss != nil {
		l.Loss = *f.Loss
	}
	if l.Coordinator == "" {
		l.Coordinator = loopback(f.IPv6)
	}
	if err := f.fits(); err != nil {
		return l, 0, err
	}
	key, err := f.secret(std.Getenv)
	if err != nil {
		return l, 0, err
	}
	l.Key, l.Encrypt = key.Key, key.Encrypt
	if f.madeUp() > 0 {
		return f.madeUpLink(l)
	}
	switch {
	case l.Transport == overMem:
		return l, crew.MemDatagram, nil
	case l.Transport == overTCP, l.Transport == overHybrid && !f.mustMulticast():
		return l, 0, nil
	case l.Transport == overShm:
		return l, crew.ShmDatagram, nil
	case l.Transport == overVerbs:
		if datagram, err = terminal.Await(ctx, func() (int, error) { return l.TryVerbs(ctx) }); err != nil {
			err = fmt.Errorf("--transport=verbs: %w", err)
		}
		l.PutsOnly = datagram == 0
		return l, datagram, err
	}
	if l.Interface, err = interfaceName(l.Interface); err != nil {
		return l, 0, err
	}
	datagram, err = terminal.Await(ctx, func() (int, error) { return l.TryMulticast(ctx) })
	switch {
	case err == nil && f.Transport == overAuto:
		l.Transport = overHybrid
		f.chosen = "hybrid, multicasts on " + l.Interface
	case err == nil && f.Transport == "":
		l.Transport = overMcast
		f.chosen = "mcast on " + l.Interface
	case err != nil && (ctx.Err() != nil || f.mustMulticast()):
		return l, 0, fmt.Errorf("no multicast on interface %s: %w", l.Interface, err)
	case err != nil && f.Transport == overAuto:
		l.Transport, l.Interface = overHybrid, ""
		f.chosen = fmt.Sprintf("hybrid without multicast, because %v", err)
	case err != nil:
		l.Transport = overTCP
		f.chosen = fmt.Sprintf("tcp, because %v", err)
	}
	return l, datagram, nil
}

func loopback(v6 bool) string {
	if v6 {
		return "[::1]:0"
	}
	return "127.0.0.1:0"
}

// mustMulticast reports whether flags ask for a feature that needs multicast.
func (f *runFlags) mustMulticast() bool {
	return f.Transport == overMcast || f.Interface != "" || f.Loss != nil
}

// fits checks the flags of the link, and their combination.
func (f *runFlags) fits() error {
	if f.Transport != "" {
		if err := oneOf("transport", f.Transport, command.Heads(transportHelp)); err != nil {
			return err
		}
	}
	switch {
	case f.Loss != nil && !(*f.Loss >= 0 && *f.Loss <= 1):
		return fmt.Errorf("--loss=%v: must be a probability, from 0 to 1", *f.Loss)
	case f.Loss != nil && f.Transport == overTCP:
		return errors.New("--loss: transport tcp cannot lose messages")
	case f.Loss != nil && f.Transport == overShm:
		return errors.New("--loss: transport shm cannot lose messages")
	case f.Interface != "" && slices.Contains([]string{overMem, overTCP, overShm}, f.Transport):
		return fmt.Errorf("--interface: transport %s does not multicast on an interface", f.Transport)
	}
	for _, fits := range []func() error{f.fitsVerbs, f.fitsMadeUp, f.fitsCoordinator} {
		if err := fits(); err != nil {
			return err
		}
	}
	return nil
}

func (f *runFlags) fitsCoordinator() error {
	if f.Coordinator == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(f.Coordinator)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("--coordinator=%s: must be HOST:PORT, such as 10.77.0.1:7777: %w", f.Coordinator, err)
	}
	return nil
}

// dropIdle removes the flags that have no effect on ranks that reach each other through memory.
func (f *runFlags) dropIdle(std terminal.Stdio) {
	if !f.memory() || f.Netns != nil {
		return
	}
	if f.Coordinator != "" {
		std.Idle("coordinator", "ranks over "+f.Transport+" need no coordinator")
		f.Coordinator = ""
	}
	if f.IPv6 {
		std.Idle("ipv6", "ranks over "+f.Transport+" have no addresses")
		f.IPv6 = false
	}
}

// announce prints which transport was chosen, unless a flag named it.
func (f *runFlags) announce(std terminal.Stdio) {
	if f.chosen != "" {
		fmt.Fprintf(std.Err, "transport: %s\n", f.chosen)
	}
}

// memory reports whether the flags say that the ranks reach each other through memory.
func (f *runFlags) memory() bool { return f.Transport == overMem || f.Transport == overShm }

// interfaceName returns the name of the interface, which must exist. The default is the loopback
// interface.
func interfaceName(name string) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("--interface: %w", err)
	}
	var names []string
	for _, i := range all {
		if i.Name == name || name == "" && i.Flags&net.FlagLoopback != 0 {
			return i.Name, nil
		}
		names = append(names, i.Name)
	}
	if name == "" {
		return "", errors.New("--interface: needed, because there is no loopback interface")
	}
	return "", fmt.Errorf("--interface=%s: no such interface; this host has %s", name, strings.Join(names, ", "))
}

// fitsVerbs checks the flags that concern the transport verbs.
func (f *runFlags) fitsVerbs() error {
	switch {
	case f.Transport != overVerbs && f.Device != "":
		return errors.New("--device: is for --transport=verbs")
	case f.Transport != overVerbs:
		return nil
	case f.Interface != "":
		return errors.New("--interface: transport verbs takes --device instead")
	case f.Netns != nil:
		return errors.New("--netns: simulated hosts have no RDMA device")
	}
	return nil
}
