package cast

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/meet/lobby"
)

// MaxReceivers is the greatest number of receivers of a cast.
const MaxReceivers = 4096

// awaited says for which receivers a sender waits.
type awaited struct {
	want  *lobby.Count                                    // for the first round
	total int                                             // receivers that are expected; 0: any number
	came  func(n int)                                     // is told how many wait
	full  func()                                          // is called when a round begins
	at    func() (netip.AddrPort, error)                  // the one address of this host where they come, or why there is none
	order func(a, b string) int                           // compares two names: neighbours in this order are neighbours in a chain
	later func(want *lobby.Count, served map[string]bool) // is told for whom a later round waits, and who has everything: it stops want when nobody else can come
	words func(here []string) string                      // says who has come, and who has not and why
}

// comers returns the receivers that come by themselves to l. expect is their number, or 0 for any.
func comers(l *net.TCPListener, expect int, events *events) *awaited {
	of := ""
	want := lobby.NewCount(MaxReceivers)
	if expect > 0 {
		of, want = fmt.Sprintf(" of %d", expect), lobby.NewCount(expect)
	}
	at := func() (netip.AddrPort, error) {
		at := l.Addr().(*net.TCPAddr).AddrPort()
		if at.Addr().IsUnspecified() {
			return at, errors.New("the address for multicasts is not known: give --listen a host, or --interface")
		}
		return at, nil
	}
	say := func(here []string) string {
		if len(here) == 0 {
			return fmt.Sprintf("nobody has come to %v: start \"schedgen receive --from HOST:%d --to DIR\" on the hosts", l.Addr(), l.Addr().(*net.TCPAddr).Port)
		}
		return fmt.Sprintf("%d%s have come: %s", len(here), of, words.Some(here))
	}
	return &awaited{
		want: want, total: expect, at: at, order: strings.Compare, words: say,
		came:  func(n int) { events.status(fmt.Sprintf("%d%s have come", n, of)) },
		full:  func() { events.status("") },
		later: func(*lobby.Count, map[string]bool) {},
	}
}

// arrange puts those of all that are chosen into an order of names. Ranks follow it.
func arrange(all []lobby.Guest, chosen []int, order func(a, b string) int) {
	slices.SortStableFunc(chosen, func(i, j int) int { return order(all[i].Name, all[j].Name) })
}
