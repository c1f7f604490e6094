//go:build linux

package kills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// With --cut each rank is on its own host, a network namespace at a bridge. The network is cut in
// two: the hosts of one part move to another bridge. Each part must name all ranks of the other,
// and continue.

// newNetwork makes the hosts of the ranks at br0, and br1 for the hosts that are cut off.
func newNetwork(hosts int) (*ranks.Network, error) {
	n, err := ranks.NewNetwork(hosts, 0)
	if err != nil {
		return nil, fmt.Errorf("--cut: %w", err)
	}
	if err := n.Bridge("ip link add br1 type bridge stp_state 0 mcast_snooping 0", "ip link set br1 up"); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// move moves the hosts of members to a bridge.
func move(on *ranks.Network, members []int, bridge string) error {
	for _, rank := range members {
		if err := on.Bridge(fmt.Sprintf("ip link set %s master %s", netns.Port(rank), bridge)); err != nil {
			return err
		}
	}
	return nil
}

// runCut starts the ranks, cuts the network, and collects the reports of both parts.
func runCut(ctx context.Context, v *Verb, on *ranks.Network, transport, work string, random *rand.Rand) (parts []*outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, v, on, transport, work)
	defer func() {
		cancel()
		ranks.End(members)
	}()
	if err != nil {
		return nil, err
	}
	order := random.Perm(v.Ranks)
	sides := [][]int{order[:v.AtOnce], order[v.AtOnce:]}
	slices.Sort(sides[0])
	slices.Sort(sides[1])
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
	at := time.Now()
	if err := move(on, sides[0], "br1"); err != nil {
		return nil, err
	}
	late := time.AfterFunc(v.Limit, cancel) // ends all that hang
	defer late.Stop()
	for i, side := range sides {
		part := &outcome{killed: sides[1-i], at: at}
		for _, rank := range side {
			t, err := readReport(members[rank], rank)
			if err != nil {
				return nil, err
			}
			part.survivors = append(part.survivors, t)
		}
		parts = append(parts, part)
	}
	return parts, errors.Join(ctx.Err(), move(on, sides[0], "br0"))
}
