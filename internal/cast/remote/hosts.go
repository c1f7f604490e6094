package remote

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxHost is the greatest length of a host's name in bytes.
const maxHost = 255

// CheckHost returns an error unless ssh can take host as a name, an alias, user@host or an ssh://
// address.
func CheckHost(host string) error {
	switch {
	case host == "":
		return fmt.Errorf("a host without a name")
	case len(host) > maxHost:
		return fmt.Errorf("host %.20q…: %d bytes, at most %d are allowed", host, len(host), maxHost)
	case strings.HasPrefix(host, "-"):
		return fmt.Errorf("host %q: would be an option of ssh", host)
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }):
		return fmt.Errorf("host %q: has a blank or an unprintable character", host)
	}
	return nil
}

// ReadHosts reads hosts or sets of hosts ([Groups.Expand]), one a line. It ignores empty lines and
// comments, which begin with #. A host that is named twice is an error. An error names the line.
func ReadHosts(r io.Reader, g *Groups) ([]string, error) {
	var hosts []string
	seen := map[string]int{}
	in := bufio.NewScanner(r)
	line := 0
	for in.Scan() {
		line++
		text, _, _ := strings.Cut(in.Text(), "#")
		some, err := g.Expand(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		for _, host := range some {
			if first, twice := seen[host]; twice {
				return nil, fmt.Errorf("line %d: host %q is named twice, first in line %d", line, host, first)
			}
			seen[host] = line
			hosts = append(hosts, host)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return hosts, nil
}
