//go:build linux

package cast

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// carried returns how many bytes the link of a host has carried from and to the host, by the
// counters of its port.
func carried(host int) (from, to int64, err error) {
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		return 0, 0, err
	}
	return parseCounters(string(text), netns.Port(host))
}

// parseCounters returns the bytes that an interface has received and sent.
func parseCounters(text, device string) (received, sent int64, err error) {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if strings.TrimSpace(name) != device || len(f) < 9 {
			continue
		}
		received, err = strconv.ParseInt(f[0], 10, 64)
		if err == nil {
			sent, err = strconv.ParseInt(f[8], 10, 64)
		}
		return received, sent, err
	}
	return 0, 0, fmt.Errorf("no counters of %s", device)
}

// bound reports whether a process's network namespace has a socket with the port.
func (s socket) bound(pid int) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, s.protocol))
	return err == nil && s.isIn(string(text)), err
}

// isIn reports whether a table of the system has the port.
func (s socket) isIn(table string) bool {
	port := fmt.Sprintf(":%04X", s.port)
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasSuffix(f[1], port) {
			return true
		}
	}
	return false
}

// processesIn returns the processes in the network namespace of a thread of this one.
func processesIn(thread int) (all []*os.Process, err error) {
	namespace, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/ns/net", thread))
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(strings.Split(name, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		if other, err := os.Stat(name); err != nil || !os.SameFile(namespace, other) {
			continue // it has ended, or is in another namespace
		}
		if p, err := os.FindProcess(pid); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}
