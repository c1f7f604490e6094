package meet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// A rank that cannot take part tells all others why, also those that
// come a second later. The rank itself returns its error.
func TestFaultIsToldToAll(t *testing.T) {
	noPaper := errors.New("no paper")
	for _, guilty := range heavy.Or([]int{0, 1, 20}, []int{0, 1, 2, 8, 9, 20}) {
		inHall(t, 21, func(t *testing.T, h *hall) {
			late := []int{3, 8, 19}
			h.edit = func(c *Config) {
				if c.Rank == guilty {
					c.Fault = noPaper
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx, late...)
			time.Sleep(time.Second)
			for _, rank := range late {
				h.come(ctx, rank, nil)
			}
			h.wg.Wait()
			for rank, err := range h.errs {
				if rank == guilty {
					require.Equal(t, noPaper, err)
					continue
				}
				require.ErrorContains(t, err, fmt.Sprintf("rank %d: no paper", guilty), "rank %d", rank)
				require.Less(t, h.ends[rank], faultTime+time.Second, "rank %d", rank)
			}
		})
	}
}

// Ranks that come one after the other hear a fault, the last of them long after it.
func TestFaultIsToldWhileRanksCome(t *testing.T) {
	for _, guilty := range []int{0, 3} {
		inHall(t, 9, func(t *testing.T, h *hall) {
			h.come(t.Context(), guilty, func(c *Config) { c.Fault = errors.New("no paper") })
			for rank := range h.size {
				if rank == guilty {
					continue
				}
				h.come(t.Context(), rank, nil)
				time.Sleep(faultTime - graceTime)
			}
			h.wg.Wait()
			for _, err := range h.errs {
				require.ErrorContains(t, err, "no paper")
			}
			require.Less(t, time.Since(h.from), time.Duration(h.size)*faultTime)
		})
	}
}

// A rank that cannot take part and does not know how many ranks there are tells it as well.
func TestFaultOfARankThatLacksTheSize(t *testing.T) {
	for _, guilty := range []int{0, 1, 20} {
		inHall(t, 21, func(t *testing.T, h *hall) {
			h.edit = func(c *Config) {
				if c.Rank == guilty {
					c.Fault, c.Size = errors.New("no paper"), 0
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx, 3)
			time.Sleep(time.Second)
			h.come(ctx, 3, nil)
			h.wg.Wait()
			for rank, err := range h.errs {
				require.ErrorContains(t, err, "no paper", "rank %d", rank)
				if rank != guilty { // it tries to tell the ranks above, and then waits for those below
					require.Less(t, h.ends[rank], faultTime+time.Second, "rank %d", rank)
				}
				require.LessOrEqual(t, h.ends[rank], 2*faultTime+time.Second, "rank %d", rank)
			}
		})
	}
}

// A rank that has a fault and finds nobody does not wait for long.
func TestFaultThatNobodyHears(t *testing.T) {
	for _, guilty := range []int{0, 2} {
		inHall(t, 3, func(t *testing.T, h *hall) {
			h.come(t.Context(), guilty, func(c *Config) { c.Fault = errors.New("no paper") })
			h.wg.Wait()
			require.EqualError(t, h.errs[guilty], "no paper")
			require.Less(t, h.ends[guilty], faultTime+time.Second)
		})
	}
}

// If a rank cannot prepare itself, all others hear it while they prepare themselves, although they
// wait for it in that.
func TestFaultEndsPreparations(t *testing.T) {
	for _, guilty := range []int{0, 1, 9, 20} {
		inHall(t, 21, func(t *testing.T, h *hall) {
			h.edit = func(c *Config) {
				c.Prepare = func(ctx context.Context, _ *Meeting) error {
					if c.Rank == guilty {
						return errors.New("no paper")
					}
					<-ctx.Done()
					return ctx.Err()
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx)
			h.wg.Wait()
			for rank, err := range h.errs {
				if rank == guilty {
					require.EqualError(t, err, "no paper")
				} else {
					require.ErrorContains(t, err, fmt.Sprintf("rank %d: no paper", guilty), "rank %d", rank)
				}
				require.Less(t, h.ends[rank], faultTime, "rank %d", rank)
			}
		})
	}
}

// A rank that cannot listen tells it, too.
func TestRankThatCannotListen(t *testing.T) {
	for _, guilty := range []int{0, 2, 9} {
		inHall(t, 12, func(t *testing.T, h *hall) {
			h.edit = func(c *Config) {
				if c.Rank == guilty {
					c.Network = deaf{c.Network, guilty == 0}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx)
			h.wg.Wait()
			for rank, err := range h.errs {
				require.ErrorIs(t, h.errs[guilty], unix.EMFILE)
				if rank != guilty {
					require.ErrorContains(t, err, fmt.Sprintf("rank %d: accept connections: too many open files", guilty), "rank %d", rank)
				}
			}
		})
	}
}

// deaf is a network on which a rank cannot listen, or only at its door.
type deaf struct {
	Network
	door bool
}

func (d deaf) Listen(ctx context.Context, addr string) (net.Listener, error) {
	if _, port, _ := net.SplitHostPort(addr); d.door && port != "0" {
		return d.Network.Listen(ctx, addr)
	}
	return nil, unix.EMFILE
}

// If rank 0 runs out of descriptors while ranks come, the ranks that it could not let in hear that.
func TestFullDoor(t *testing.T) {
	inHall(t, 9, func(t *testing.T, h *hall) {
		h.edit = func(c *Config) {
			if c.Rank == 0 {
				c.Network = crowded{c.Network}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.all(ctx)
		h.wg.Wait()
		require.EqualError(t, h.errs[0], "accept the other ranks: too many open files")
		for rank, err := range h.errs[1:] {
			require.ErrorContains(t, err, "rank 0: accept the other ranks: too many open files", "rank %d", rank+1)
		}
	})
}

// crowded is the network of a process that may have three connections that it has accepted at its
// door at a time.
type crowded struct{ Network }

func (c crowded) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := c.Network.Listen(ctx, addr)
	return &crowdedDoor{Listener: l}, err
}

type crowdedDoor struct {
	net.Listener
	inside atomic.Int32
}

func (d *crowdedDoor) Accept() (net.Conn, error) {
	if d.inside.Load() == 3 {
		return nil, unix.EMFILE
	}
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	d.inside.Add(1)
	return &counted{Conn: conn, inside: &d.inside}, nil
}

type counted struct {
	net.Conn
	inside *atomic.Int32
	left   atomic.Bool
}

func (c *counted) Close() error {
	if !c.left.Swap(true) {
		c.inside.Add(-1)
	}
	return c.Conn.Close()
}

// A rank that lacks the descriptor for its first connection frees what it has, and tells it.
func TestRankThatCannotConnect(t *testing.T) {
	for _, guilty := range []int{1, 9, 20} {
		inHall(t, 21, func(t *testing.T, h *hall) {
			h.edit = func(c *Config) {
				if c.Rank == guilty {
					full := &tied{Network: c.Network}
					c.Network, c.Release = full, func() { full.free.Store(true) }
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.all(ctx)
			h.wg.Wait()
			require.ErrorIs(t, h.errs[guilty], unix.EMFILE)
			for rank, err := range h.errs {
				require.ErrorContains(t, err, unix.EMFILE.Error(), "rank %d", rank)
				if rank != guilty {
					require.ErrorContains(t, err, fmt.Sprintf("rank %d: reach ", guilty), "rank %d", rank)
				}
				require.Less(t, h.ends[rank], faultTime+time.Second, "rank %d", rank)
			}
		})
	}
}

// tied is the network of a process that has no descriptor for a connection before free is set.
type tied struct {
	Network
	free atomic.Bool
}

func (n *tied) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if !n.free.Load() {
		return nil, &contact.FinalError{Err: unix.EMFILE}
	}
	return n.Network.Dial(ctx, addr)
}
