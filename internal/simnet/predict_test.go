package simnet

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

const acked, chained = "bcast/mcast-acktree", "bcast/mcast-chain"

// lan returns a broadcast from rank 0 among hosts on links of a rate, as runtime/mcast would do it.
func lan(algorithm string, rate int64, hosts, bytes int) *Scenario {
	l := Link{Rate: rate, Queue: 512 << 10, Delay: 25 * Microsecond}
	return &Scenario{
		Seed: 1, Ranks: hosts, Shared: true, Limit: 100 * Second,
		Net:    Net{Up: l, Down: l, Multicast: true, Ordered: true, Cost: 2 * Microsecond},
		Script: []Op{{Kind: OpBarrier, Algorithm: "barrier/hsb"}, {Kind: OpBcast, Algorithm: algorithm, Bytes: bytes}},
	}
}

// took returns how long a step took, from its root's call to the last return.
func (r *Result) took(step, root int) Time {
	var from, until Time
	for _, c := range r.Calls {
		if c.Step == step {
			until = max(until, c.Return)
			if c.Rank == root {
				from = c.Enter
			}
		}
	}
	return until - from
}

// onWire returns how long a link needs for so many bytes in full datagrams.
func onWire(bytes int, rate int64) Time {
	n := (bytes + datagramBytes - 1) / datagramBytes
	return (&Link{Rate: rate}).Serialize(bytes + n*gramHead)
}

// Long broadcasts by multicast take the time of one copy on the wire. On slow links ranks do not
// ask for chunks that are only late, and do not put chunks that have arrived. Before this was so,
// 16 MiB to five hosts at 100 Mbit/s took 72 s instead of 1.4 s, and 32 MiB never ended. Along the
// chain they took 2.9 s, because all chunks were put once more.
func TestLongBroadcastsTakeOneCopy(t *testing.T) {
	for _, c := range []struct {
		algorithm  string
		rate       int64
		hosts, mib int
	}{
		{acked, 100e6, 5, 16}, {acked, 100e6, 5, 32}, {acked, 1e9, 3, 64}, {acked, 100e6, 3, 12},
		{acked, 100e6, 15, 8}, {acked, 100e6, 3, 8}, {acked, 100e6, 15, 64},
		{chained, 100e6, 2, 4}, {chained, 100e6, 5, 1}, {chained, 100e6, 5, 16}, {chained, 10e6, 4, 8}, {chained, 1e9, 3, 64},
		{chained, 100e6, 15, 16},
	} {
		if c.hosts*c.mib > heavy.Or(120, math.MaxInt) {
			continue
		}
		t.Run(fmt.Sprintf("%s, %d hosts, %d Mbit, %d MiB", c.algorithm, c.hosts, c.rate/1e6, c.mib), func(t *testing.T) {
			r := runs(t, lan(c.algorithm, c.rate, c.hosts, c.mib<<20))
			require.Less(t, r.took(1, 0), onWire(c.mib<<20, c.rate)*102/100)
			for rank, n := range r.Cores {
				require.Zero(t, n.LastPutChunks, "rank %d", rank)
			}
		})
	}
}

// A loss costs about as much as the lost bytes, even with only two ranks that ask each other.
func TestLossesCostWhatIsLost(t *testing.T) {
	const bytes, rate = 16 << 20, 100e6
	for _, algorithm := range []string{acked, chained} {
		for _, hosts := range []int{3, 5} {
			for perMille, percent := range map[int]Time{10: 102, 50: 108} {
				sc := lan(algorithm, rate, hosts, bytes)
				sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: perMille}}
				r := runs(t, sc)
				require.Less(t, r.took(1, 0), onWire(bytes, rate)*percent/100, "%s, %d hosts, %d of 1000", algorithm, hosts, perMille)
			}
		}
	}
}

// The same holds for chunks of hundreds of datagrams, where each chunk loses more than one request
// asks for. Before this was so, 1 GiB to three hosts, in chunks of 1 MiB, took 25 s instead of 9 s.
func TestLossesOfLargeChunksCostWhatIsLost(t *testing.T) {
	const bytes, rate = 64 << 20, 1e9
	// the last chunk, which is repeated, is 1/64 of the message
	for hosts, percent := range heavy.Or(map[int]Time{3: 115}, map[int]Time{3: 115, 5: 150}) {
		sc := lan(acked, rate, hosts, bytes)
		sc.Script[1].Chunks = 64
		sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: 50}}
		r := runs(t, sc)
		require.Less(t, r.took(1, 0), onWire(bytes, rate)*percent/100, "%d hosts", hosts)
	}
}

// A network that loses a fifth of all packets, including TCP's, is used as well as possible:
// nothing waits behind useless puts. Before this was so, 64 MiB to 15 hosts took as long as the
// losses lasted.
func TestHeavyLosses(t *testing.T) {
	for _, c := range []struct {
		rate        int64
		hosts, mib  int
		most, seeds Time
	}{{100e6, 5, 16, 4, 3}, {1e9, 15, 4, 30, 3}, {1e9, 15, 64, 30, 1}} {
		if c.hosts*c.mib > heavy.Or(100, math.MaxInt) {
			continue
		}
		for seed := range heavy.Or(1, c.seeds) {
			sc := lan(acked, c.rate, c.hosts, c.mib<<20)
			sc.Seed = uint64(seed) + 1
			sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: 200}}
			r := runs(t, sc)
			require.Less(t, r.took(1, 0), c.most*onWire(c.mib<<20, c.rate), "%d hosts, %d MiB, seed %d", c.hosts, c.mib, sc.Seed)
		}
	}
}

// With 30 % of all packets lost, TCP waits for seconds, but operations do not. Signals go by
// datagram too until their arrival is known, and ranks ask for missing chunks by datagram. Before
// this was so, the barriers took 1.4 s on average, and the broadcasts 0.9 s.
func TestHeavyLossesOfSmallOperations(t *testing.T) {
	for seed := range uint64(5) {
		sc := lan(acked, 100e6, 6, 64<<10)
		sc.Seed, sc.Net.Confirm, sc.Net.Resend, sc.Net.GiveUp = seed+1, 66, 200*Millisecond, 900*Second
		for range 9 {
			sc.Script = append(sc.Script, sc.Script[:2]...)
		}
		sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Second, PerMille: 300}}
		r := runs(t, sc)
		require.Less(t, r.End, 10*Second, "seed %d", sc.Seed)
	}
}

// Long broadcasts that are started together take the time of one copy of each on the wire, even if
// receivers wait for each one and their buffers are small.
func TestLongBroadcastsStartedTogether(t *testing.T) {
	const bytes, rate, n = 4 << 20, 100e6, 3
	for _, room := range []int{256 << 10, 4 << 20} {
		sc := lan("bcast/mcast-acktree", rate, 5, bytes)
		sc.Net.Room, sc.Open = room, 8
		for len(sc.Script) < 1+n {
			sc.Script = append(sc.Script, sc.Script[1])
		}
		r := runs(t, sc)
		require.Less(t, r.End, n*onWire(bytes, rate)*102/100, "buffers of %d bytes", room)
	}
}
