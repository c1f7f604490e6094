package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// sent is a frame sent by a part.
type sent struct {
	to   int
	head wire.Header
	body string
}

// recorder keeps all sent frames.
type recorder struct{ puts []sent }

func (r *recorder) Put(to int, f *wire.Frame) {
	r.puts = append(r.puts, sent{to, f.Header, string(f.Body)})
	gone(f)
}
func (r *recorder) Mcast(f *wire.Frame)           { gone(f) }
func (r *recorder) Datagram(_ int, f *wire.Frame) { gone(f) }

// A reason reaches every living rank, whichever rank fails and whichever ranks are known to be
// dead.
func TestFailureReachesAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 40).Draw(t, "size")
		origin := rapid.IntRange(0, size-1).Draw(t, "origin")
		gone := rapid.SliceOfN(rapid.Bool(), size, size).Draw(t, "gone")
		gone[origin] = false
		parts := make([]failure, size)
		nets := make([]recorder, size)
		for r := range parts {
			parts[r].env = &env{Config: Config{Rank: r, Size: size}, net: &nets[r]}
			parts[r].members = &presence.Roster{}
			for rank := range gone {
				if gone[rank] {
					parts[r].members.Lose(rank, false)
				}
			}
		}
		dead := &RankError{Rank: rapid.IntRange(0, size-1).Draw(t, "dead"), Err: fmt.Errorf("%w: why", ErrPeerLost)}
		parts[origin].fail(dead, true)
		for moved := true; moved; {
			moved = false
			for r := range nets {
				for _, f := range nets[r].puts {
					require.False(t, gone[f.to])
					require.Equal(t, wire.FrameAbort, f.head.Kind)
					parts[f.to].heard(&f.head, []byte(f.body))
					moved = true
				}
				nets[r].puts = nil
			}
		}
		for r := range parts {
			if gone[r] {
				continue
			}
			require.ErrorContains(t, parts[r].err, "why", "rank %d", r)
			require.ErrorIs(t, parts[r].err, ErrPeerLost)
			var about *RankError
			require.ErrorAs(t, parts[r].err, &about)
			require.Equal(t, dead.Rank, about.Rank)
			require.Equal(t, r != origin, errors.Is(parts[r].err, ErrAborted))
		}
	})
}

func TestFailureTellsOnce(t *testing.T) {
	net := &recorder{}
	f := failure{members: &presence.Roster{}, env: &env{Config: Config{Rank: 1, Size: 4}, net: net}}
	f.fail(errors.New("first"), false)
	f.fail(errors.New("second"), true)
	require.EqualError(t, f.err, "first", "the first reason stays")
	f.answer(3)
	f.answer(3)
	require.Len(t, net.puts, 1)
	require.Equal(t, 3, net.puts[0].to)
	require.Equal(t, "first", net.puts[0].body)
}

func TestGate(t *testing.T) {
	g := gate{closed: true, peer: -1, wait: 50}
	require.False(t, g.tick(10), "the wait begins with the first tick")
	require.Equal(t, Time(60), g.until)
	require.False(t, g.tick(59))
	require.True(t, g.tick(60))
	peer := gate{closed: true, peer: 3}
	require.False(t, peer.tick(1e9))
	require.False(t, peer.timed())
	open := gate{peer: -1}
	require.False(t, open.timed())
}

// The root is never drawn, and every other rank is.
func TestDrawnPeers(t *testing.T) {
	for _, size := range []int{2, 3, 7} {
		for root := range size {
			seen := map[int]bool{}
			for seq := range uint64(200) {
				seen[drawPeer([16]byte{1, 2, 3}, seq, root, size)] = true
			}
			require.Len(t, seen, size-1)
			require.False(t, seen[root])
		}
	}
}

func TestNearEnd(t *testing.T) {
	for _, c := range []struct {
		end, n int
		want   bool
	}{{0, 0, true}, {1, 1, true}, {1452, 2904, false}, {2904, 2904, true}, {749, 1000, false}, {750, 1000, true}} {
		require.Equal(t, c.want, nearEnd(c.end, c.n), "%+v", c)
	}
}

// The kind of a failure survives its way to other ranks.
func TestReasons(t *testing.T) {
	own := []error{errors.New("late"), errors.New("called off")}
	other := errors.New("something else")
	for _, kind := range []error{ErrMismatch, ErrProtocol, ErrPeerLost, ErrPeerLeft, own[0], own[1], other} {
		net := &recorder{}
		at := failure{members: &presence.Roster{}, env: &env{Config: Config{Rank: 1, Size: 3, Causes: own}, net: net}}
		at.fail(&OpError{Op: "barrier/hsb", Err: &RankError{Rank: 2, Err: fmt.Errorf("%w: %s", kind, strings.Repeat("long ", 300))}}, true)
		h := net.puts[0].head
		require.Equal(t, wire.MaxControl, h.Len)
		to := failure{members: &presence.Roster{}, env: &env{Config: Config{Rank: net.puts[0].to, Size: 3, Causes: own}, net: net}}
		to.heard(&h, []byte(net.puts[0].body))
		require.ErrorIs(t, to.err, ErrAborted)
		require.ErrorContains(t, to.err, kind.Error())
		require.Equal(t, kind != other, errors.Is(to.err, kind), "%v", kind)
		var about *RankError
		require.ErrorAs(t, to.err, &about)
		require.Equal(t, 2, about.Rank)
		to.answer(0)
		require.Equal(t, net.puts[0].body, net.puts[len(net.puts)-1].body, "it is passed on as it was")
	}
}
