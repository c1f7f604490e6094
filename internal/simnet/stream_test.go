package simnet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// stream returns the operations of a cast: pieces of 1 MiB one after the other, four operations
// open, and a barrier after every eight. Connections are like Linux's: confirmations show losses,
// or a timeout of 200 ms.
func stream(algorithm string, rate int64, hosts, pieces int) *Scenario {
	sc := lan(algorithm, rate, hosts, 1<<20)
	sc.Net.Confirm, sc.Net.Resend, sc.Net.GiveUp = 66, 200*Millisecond, 900*Second
	sc.Net.First, sc.Net.Flight, sc.Net.Buffer = 14480, 512<<10, 512<<10
	sc.Open, sc.Full = 4, true
	piece := sc.Script[1]
	sc.Script = sc.Script[:1]
	for n := range pieces {
		if n > 0 && n%8 == 0 {
			sc.Script = append(sc.Script, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		}
		sc.Script = append(sc.Script, piece)
	}
	return sc
}

// Pieces that follow each other take the link as long as one long message. Along the chain, 64
// pieces to 15 hosts once took 1.7 times as long without any loss: the first receiver counted as
// silent while the multicast of a piece still waited for earlier pieces, so all of the piece was
// put too. One run in six takes longer, because TCP loses the same signal twice. So the median run
// counts. Without SCHEDGEN_HEAVY, few hosts have losses and many have none.
func TestPiecesTakeOneCopy(t *testing.T) {
	pieces := heavy.Or(16, 24)
	for _, c := range []struct {
		algorithm       string
		perMille        int
		percent, copies Time // limits, as percentages of the wire's time, for 5 and for 15 hosts
	}{
		{acked, 0, 102, 102}, {acked, 10, 102, 103}, {acked, 50, 105, 110},
		{chained, 0, 102, 102}, {chained, 10, 103, 103}, {chained, 50, 120, 120},
	} {
		for hosts, percent := range map[int]Time{5: c.percent, 15: c.copies} {
			if daily := map[int]int{5: 10, 15: 0}; c.perMille != daily[hosts] && !heavy.Tests() {
				continue
			}
			seeds := uint64(3)
			if c.perMille == 0 { // nothing is drawn
				seeds = 1
			}
			t.Run(fmt.Sprintf("%s, %d hosts, %d of 1000", c.algorithm, hosts, c.perMille), func(t *testing.T) {
				took := []Time{}
				for seed := range seeds {
					sc := stream(c.algorithm, 100e6, hosts, pieces)
					sc.Seed = seed
					if c.perMille > 0 {
						sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: c.perMille}}
					}
					took = append(took, runs(t, sc).End*100/onWire(pieces<<20, 100e6))
				}
				slices.Sort(took)
				t.Logf("%d %% of the wire", took)
				require.Less(t, took[seeds/2], percent)
			})
		}
	}
}

// Wherever losses fall, TCP puts nothing that datagrams bring. It once did so in one run of three,
// and that run took two to six times as long.
func TestPiecesUnderLosses(t *testing.T) {
	pieces := heavy.Or(12, 24)
	for _, algorithm := range []string{acked, chained} {
		for seed := range heavy.Or[uint64](3, 8) {
			sc := stream(algorithm, 100e6, 5, pieces)
			sc.Seed = seed + 1
			sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: 50}}
			r := runs(t, sc)
			t.Logf("%s, seed %d: %.3f of the wire", algorithm, sc.Seed, float64(r.End)/float64(onWire(pieces<<20, 100e6)))
			require.Less(t, r.End, onWire(pieces<<20, 100e6)*130/100, "%s, seed %d", algorithm, sc.Seed)
		}
	}
}

// On links that are so slow that a burst takes longer than a base timeout, packets on their way are
// not taken for lost. Once all of them were also put to all ranks, and the run took five times as
// long as one copy. Without SCHEDGEN_HEAVY, only the slowest and the fastest links are tried.
func TestPiecesOverSlowLinks(t *testing.T) {
	const pieces = 6
	for _, c := range []struct {
		rate     int64
		perMille int
		percent  Time // limit, as a percentage of the wire's time
	}{
		{500e3, 0, 300}, {500e3, 50, 170}, {1e6, 0, 105}, {2e6, 0, 105}, {2e6, 10, 105}, {2e6, 50, 110}, {10e6, 0, 105}, {10e6, 50, 120},
	} {
		if c.rate != 500e3 && c.rate != 10e6 && !heavy.Tests() {
			continue
		}
		for _, algorithm := range []string{acked, chained} {
			t.Run(fmt.Sprintf("%s, %d bit/s, %d of 1000", algorithm, c.rate, c.perMille), func(t *testing.T) {
				sc := stream(algorithm, c.rate, 5, pieces)
				sc.Limit, sc.Net.GiveUp = 7200*Second, 7200*Second
				if c.perMille > 0 {
					sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: sc.Limit, PerMille: c.perMille}}
				}
				r := runs(t, sc)
				t.Logf("%.3f of the wire", float64(r.End)/float64(onWire(pieces<<20, c.rate)))
				require.Less(t, r.End, onWire(pieces<<20, c.rate)*c.percent/100)
			})
		}
	}
}
