package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime/lobby"
)

// castGuests are the receivers that a sender waits for.
type castGuests struct {
	want  *lobby.Count                                    // for the first round
	came  func(n int)                                     // is told how many wait
	full  func()                                          // is called when a round begins
	at    func() (netip.AddrPort, error)                  // returns the one address of this host where they come, or why there is none
	order func(a, b string) int                           // compares two names: neighbours in this order are neighbours in a chain
	later func(want *lobby.Count, served map[string]bool) // is told for whom a later round waits, and who has all: it stops that when nobody else can come
	words func(here []string) string                      // says who has come, and who has not and why
	say   func(line string)                               // prints a line
}

// served are the receivers that are started on their hosts.
func (c *castCmd) served(l *net.TCPListener, std stdio) *castGuests {
	of := ""
	want := lobby.NewCount(maxReceivers)
	if c.Expect > 0 {
		of, want = fmt.Sprintf(" of %d", c.Expect), lobby.NewCount(c.Expect)
	}
	came := func(n int) {
		if isTerminal(std.Err) {
			fmt.Fprintf(std.Err, "%d%s have come\n", n, of)
		}
	}
	at := func() (netip.AddrPort, error) {
		at := l.Addr().(*net.TCPAddr).AddrPort()
		if at.Addr().IsUnspecified() {
			return at, errors.New("it is not known where to multicast: give --listen a host, or --interface")
		}
		return at, nil
	}
	words := func(here []string) string {
		if len(here) == 0 {
			return fmt.Sprintf("nobody has come to %v: start \"schedgen receive --from HOST:%d --to DIR\" on the hosts", l.Addr(), l.Addr().(*net.TCPAddr).Port)
		}
		return fmt.Sprintf("%d%s have come: %s", len(here), of, someOf(here))
	}
	return &castGuests{
		want: want, came: came, full: func() {}, at: at, order: strings.Compare, later: func(*lobby.Count, map[string]bool) {},
		words: words, say: func(line string) { fmt.Fprintln(std.Err, line) },
	}
}

// arrange puts those of all that are chosen into an order of names. Ranks follow it.
func arrange(all []lobby.Guest, chosen []int, order func(a, b string) int) {
	slices.SortStableFunc(chosen, func(i, j int) int { return order(all[i].Name, all[j].Name) })
}
