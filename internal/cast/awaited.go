package cast

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/words"
)

// MaxReceivers is the greatest number of receivers of a cast.
const MaxReceivers = 4096

// awaited describes the receivers for which a sender waits.
type awaited struct {
	want       *lobby.Count                                    // for the first round
	total      int                                             // number of expected receivers; 0: any number
	came       func(n int)                                     // called with the number of receivers that wait
	full       func()                                          // called when a round begins
	at         func() (netip.AddrPort, error)                  // returns this host's address as all receivers see it
	order      func(a, b string) int                           // compares two names; a chain follows this order
	awaitRound func(want *lobby.Count, served map[string]bool) // see crew.awaitRound
	describe   func(here []string) string                      // says which receivers have come, and why others have not
}

// comers describes receivers that come to l by themselves. expect is their number, or 0 for any
// number.
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
			return fmt.Sprintf("no receiver has come to %v: start \"schedcast receive --from HOST:%d --to DIR\" on the hosts",
				l.Addr(), l.Addr().(*net.TCPAddr).Port)
		}
		return fmt.Sprintf("%d%s have come: %s", len(here), of, words.Some(here))
	}
	return &awaited{
		want: want, total: expect, at: at, order: strings.Compare, describe: say,
		came:       func(n int) { events.status(fmt.Sprintf("%d%s have come", n, of)) },
		full:       func() { events.status("") },
		awaitRound: func(*lobby.Count, map[string]bool) {},
	}
}

// arrange sorts the chosen indexes of all by the guests' names. The ranks follow this order.
func arrange(all []lobby.Guest, chosen []int, order func(a, b string) int) {
	slices.SortStableFunc(chosen, func(i, j int) int { return order(all[i].Name, all[j].Name) })
}
