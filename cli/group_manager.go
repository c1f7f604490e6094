package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
	"github.com/schedgen/schedgen/runtime/membership/file"
)

// managerHelp are the forms of the values of --manager, and the text of each in --help.
var managerHelp = [][2]string{
	{"embedded://HOST:PORT,…", "the members themselves, which look for each other at these addresses"},
	{"etcd://HOST:PORT,…", "the etcd cluster at these addresses"},
	{"file:///DIRECTORY", "files in a directory that all members share"},
}

// managerURL is the value of --manager.
type managerURL struct {
	kind  string
	rest  string
	hosts []string // "host:port" each; empty for file
}

// UnmarshalText reads a URL such as "embedded://10.0.0.1:7100,10.0.0.2:7100".
func (u *managerURL) UnmarshalText(text []byte) error {
	var found bool
	if u.kind, u.rest, found = strings.Cut(string(text), "://"); !found || !slices.Contains([]string{"embedded", "etcd", "file"}, u.kind) {
		return fmt.Errorf("%q is not a manager: it must be one of %s", text, strings.Join(command.Heads(managerHelp), ", "))
	}
	if u.kind == "file" {
		if u.rest == "" {
			return errors.New("a directory is missing, as in file:///shared/groups")
		}
		return nil
	}
	u.hosts = strings.Split(u.rest, ",")
	for _, at := range u.hosts {
		host, port, err := net.SplitHostPort(at)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if ip := net.ParseIP(host); err == nil && (host == "" || port == "0" || ip != nil && ip.IsUnspecified()) {
			err = errors.New("others cannot use this address")
		}
		if err != nil {
			return fmt.Errorf("%q: must be HOST:PORT, such as 10.0.0.1:7100: %w", at, err)
		}
	}
	return nil
}

// open returns a manager for a member of the group of that name, and the address where the others
// reach this member. listen and silence are the values of the flags, which may be empty. log
// receives what a member waits for.
func (u *managerURL) open(name, listen string, silence *time.Duration, log *slog.Logger) (m membership.Manager, address string, err error) {
	var ttl time.Duration // the manager's own
	if silence != nil {
		ttl = *silence
	}
	own, err := u.bind()
	if err != nil {
		return nil, "", err
	}
	if address, err = u.address(listen, own); err != nil {
		return nil, "", errors.Join(err, own.close())
	}
	switch u.kind {
	case "etcd":
		urls := make([]string, len(u.hosts))
		for i, at := range u.hosts {
			urls[i] = "http://" + at
		}
		m, err = etcd.New(etcd.Config{Endpoints: urls, Prefix: "schedgen/" + name, TTL: ttl, Log: log})
	case "file":
		m, err = file.New(file.Config{Dir: filepath.Join(u.rest, name), TTL: ttl, Log: log})
	default:
		cfg := embedded.Config{Group: name, Seeds: u.hosts, Listener: own.listener, Advertise: own.at, TTL: ttl, Log: log}
		if own.listener == nil {
			host, _, _ := net.SplitHostPort(address) // method address returns "host:port"
			cfg.Listen = net.JoinHostPort(host, "0")
		}
		m, err = embedded.New(cfg)
	}
	if isListen(err) {
		return nil, "", fmt.Errorf("--listen=%s: %w", listen, err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("--manager: %w", err)
	}
	return m, address, nil
}

// isListen reports whether err says that this process cannot listen at an address.
func isListen(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "listen"
}

// ownSeed is the address of --manager at which this member listens as embedded manager. It is empty
// if the member listens at none of them.
type ownSeed struct {
	at       string // host:port
	listener net.Listener
}

func (s *ownSeed) close() error {
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}

// bind listens at the first of the addresses that belongs to this host and is free.
func (u *managerURL) bind() (s ownSeed, err error) {
	if u.kind != "embedded" {
		return s, nil
	}
	for _, at := range u.hosts {
		l, err := net.Listen("tcp", at)
		var unknown *net.DNSError
		switch {
		case errors.As(err, &unknown):
			return s, fmt.Errorf("--manager: %w", err)
		case err != nil:
			continue
		}
		s = ownSeed{at, l}
		if ip := l.Addr().(*net.TCPAddr).IP; ip.IsLoopback() && !isLocal(at) {
			return ownSeed{}, errors.Join(fmt.Errorf("--manager: %s is %v on this host, which other hosts cannot reach: give the address of the host", at, ip), s.close())
		}
		return s, nil
	}
	return s, nil // all belong to other hosts or processes
}

// isLocal reports whether at is localhost or a loopback address by its text.
func isLocal(at string) bool {
	host, _, err := net.SplitHostPort(at)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// address returns the "host:port" where the others reach this member: listen, or else the address
// of this host that reaches the manager.
func (u *managerURL) address(listen string, own ownSeed) (string, error) {
	switch {
	case listen != "":
		if _, _, err := net.SplitHostPort(listen); err != nil {
			listen = net.JoinHostPort(strings.Trim(listen, "[]"), "0")
		}
		return listen, nil
	case own.at != "":
		host, _, err := net.SplitHostPort(own.at)
		return net.JoinHostPort(host, "0"), err
	case u.kind == "file":
		return loopback(false), nil
	}
	c, err := net.Dial("udp", u.hosts[0]) // sends nothing
	if err != nil {
		return "", fmt.Errorf("--listen: needed, because this host has no address that reaches %s: %w", u.hosts[0], err)
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return net.JoinHostPort(host, "0"), err
}
