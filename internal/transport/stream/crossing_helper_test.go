package stream

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/runtime/wire"
)

// crossing is two ranks whose dials wait until they are released.
type crossing struct {
	ranks [2]*Transport
	sinks [2]*ledger
	gates [2]chan struct{}

	put    [2]map[int]uint64 // frames that each rank has put, by lane
	unsent [2]int            // frames whose bodies are referred to
}

// ledger is a sink that keeps all arrivals by lane, and may hold its operations.
type ledger struct {
	wire.Nobody
	hold bool
	got  map[int][]uint64
	open map[int][]byte // the current frame
	how  wire.End
	err  error
}

func (l *ledger) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if l.hold && h.Lane == wire.LaneOps {
		return nil, wire.Hold
	}
	i := laneIndex(h.Lane, h.Comm)
	if l.open[i] == nil {
		l.open[i] = make([]byte, h.Len)
	}
	return l.open[i], wire.Accept
}

func (l *ledger) Arrived(h *wire.Header, body []byte) {
	i := laneIndex(h.Lane, h.Comm)
	if string(body) != bodyOf(h.Seq) {
		h.Seq = 1 << 63
	}
	l.got[i], l.open[i] = append(l.got[i], h.Seq), nil
}

func (l *ledger) Ended(_ int, how wire.End, err error) { l.how, l.err = how, err }

// bodyOf is the body of frame seq. Some bodies are longer than the system takes at once.
func bodyOf(seq uint64) string {
	if seq%11 == 10 {
		return strings.Repeat(fmt.Sprint(seq), 1<<20)
	}
	return strings.Repeat("x", int(seq%5))
}

func newCrossing(t testing.TB, edits ...func(*Options)) *crossing {
	x := new(crossing)
	x.ranks[0], x.ranks[1] = pair(t, edits...)
	for rank, tr := range x.ranks {
		gate := make(chan struct{})
		x.put[rank] = map[int]uint64{}
		x.gates[rank], x.sinks[rank] = gate, &ledger{got: map[int][]uint64{}, open: map[int][]byte{}}
		tr.dialer.attempt = func(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error) {
			select {
			case <-gate:
				return meet.Dial(ctx, c, addr, limit)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return x
}

// say puts the next frame of a rank and lane.
func (x *crossing) say(rank, lane int) {
	seq := x.put[rank][lane]
	f := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: seq}, Body: []byte(bodyOf(seq)), Unsent: &x.unsent[rank]}
	f.Lane, f.Comm = laneOf(lane)
	x.unsent[rank]++
	x.put[rank][lane]++
	x.ranks[rank].Put(1-rank, f)
}

// dialling returns how many of a rank's dials wait.
func (x *crossing) dialling(rank int) int {
	d := x.ranks[rank].dialer
	d.mu.Lock()
	defer d.mu.Unlock()
	n := -len(d.done)
	x.ranks[rank].eachConn(func(c *conn) {
		if c.fd < 0 {
			n++
		}
	})
	return n
}

// connect releases one waiting dial, if there is one, and waits until it is done.
func (x *crossing) connect(rank int) {
	n := x.dialling(rank)
	if n == 0 {
		return
	}
	x.gates[rank] <- struct{}{}
	for x.dialling(rank) == n {
		x.ranks[rank].Wait(time.Millisecond)
	}
}

func (x *crossing) poll(rank int) { x.ranks[rank].Poll(x.sinks[rank]) }

// settle releases all dials and polls both ranks until cond holds.
func (x *crossing) settle(t require.TestingT, cond func() bool) {
	for end := time.Now().Add(3 * time.Second); !cond(); {
		moved := false
		for rank := range x.ranks {
			x.connect(rank)
			moved = x.ranks[rank].Poll(x.sinks[rank]) || moved
		}
		if !moved {
			x.ranks[0].Wait(time.Millisecond)
		}
		require.True(t, time.Now().Before(end), "still waiting\n%s%s", x.tell(0), x.tell(1))
	}
}

// conns returns how many connections of a lane a rank has.
func (x *crossing) conns(rank, lane int) (n int) {
	x.ranks[rank].eachConn(func(c *conn) {
		if c.lane == lane {
			n++
		}
	})
	return n
}

// united reports whether each rank has one connection of the lane, and both speak on the same
// connection.
func (x *crossing) united(lane int) bool {
	for rank, tr := range x.ranks {
		o, in := tr.peers[1-rank].out[lane], tr.peers[1-rank].in[lane]
		if x.conns(rank, lane) != 1 || o == nil || in == nil || o.conn != in.conn || !o.idle() {
			return false
		}
	}
	return true
}

// tell describes the state of a rank.
func (x *crossing) tell(rank int) string {
	tr, s := x.ranks[rank], x.sinks[rank]
	p := &tr.peers[1-rank]
	text := fmt.Sprintf("rank %d has %v, end %v %v, turns %v and %v\n", rank, s.got, s.how, s.err, p.outTurn, p.inTurn)
	for _, c := range p.conns {
		text += fmt.Sprintf("\tlane %d: reads %d in turn %d; speaks %v, ends %v, idle %v\n", c.lane, c.in.phase, c.in.turn, c.out.speaks(), c.out.ending, c.out.idle())
	}
	return text
}
