package ether

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

const (
	udp = 17
	tcp = 6
)

func station(i int) address { return address{0x52, 0x54, 0, 0, 0, byte(i)} }

var (
	everybody = address{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	group     = address{0x33, 0x33, 0, 0, 0, 1}
)

// frame4 is a frame of IPv4 with a number in its body.
func frame4(to, from address, protocol byte, number int) []byte {
	f := append(append(to[:], from[:]...), 0x08, 0x00)
	packet := make([]byte, 20)
	packet[9] = protocol
	return binary.BigEndian.AppendUint32(append(f, packet...), uint32(number))
}

func numberOf(frame []byte) int { return int(binary.BigEndian.Uint32(frame[len(frame)-4:])) }

// far is a station's end of its link.
type far struct {
	t    *testing.T
	conn net.Conn
}

func (f far) send(frame []byte) {
	_, err := f.conn.Write(frame)
	require.NoError(f.t, err)
}

func (f far) receive() []byte {
	require.NoError(f.t, f.conn.SetReadDeadline(time.Now().Add(time.Minute))) // bounds a failure
	buffer := make([]byte, 1<<16)
	n, err := f.conn.Read(buffer)
	require.NoError(f.t, err)
	return buffer[:n]
}

func (f far) receives(frame []byte) { require.Equal(f.t, frame, f.receive()) }

// plugged returns a switch with stations.
func plugged(t *testing.T, c Config, stations int) (*Switch, []far) {
	s := New(c)
	var all []far
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	for range stations {
		link, end, err := Pair()
		require.NoError(t, err)
		conn, err := net.FileConn(end)
		require.NoError(t, err)
		require.NoError(t, end.Close())
		run := s.Plug(link)
		running.Go(func() { _ = run() })
		t.Cleanup(func() { _ = link.Close(); _ = conn.Close() })
		all = append(all, far{t, conn})
	}
	return s, all
}

// TestSwitchLearns checks that frames for a group or an unknown address go to all other ports, and
// frames for a known address only to its port.
func TestSwitchLearns(t *testing.T) {
	_, at := plugged(t, Config{Queue: 8}, 3)
	for i, to := range []address{everybody, group, station(9)} {
		f := frame4(to, station(0), udp, i)
		at[0].send(f)
		at[1].receives(f)
		at[2].receives(f)
	}
	answer := frame4(station(0), station(2), tcp, 7)
	at[2].send(answer)
	at[0].receives(answer)
	direct := frame4(station(2), station(0), tcp, 8)
	at[0].send(direct)
	at[2].receives(direct)
	toItself := frame4(station(0), station(0), tcp, 9)
	at[0].send(toItself)
	at[0].send([]byte("short"))
	last := frame4(everybody, station(0), tcp, 10)
	at[0].send(last)
	at[1].receives(last) // and no frame before it
	at[2].receives(last)
}

// TestSwitchForgetsWhereAStationWas checks that frames for a station go to the port by which it has
// sent last.
func TestSwitchForgetsWhereAStationWas(t *testing.T) {
	_, at := plugged(t, Config{Queue: 8}, 3)
	for from := range 2 {
		hello := frame4(everybody, station(5), udp, from)
		at[from].send(hello)
		at[1-from].receives(hello)
		at[2].receives(hello)
		f := frame4(station(5), station(2), udp, 10)
		at[2].send(f)
		at[from].receives(f)
	}
}

// arrivals sends count UDP multicasts from the first station and returns which of them reach each
// other station. A TCP frame behind them tells that all have arrived.
func arrivals(t *testing.T, c Config, stations, count int) (*Switch, [][]int) {
	s, at := plugged(t, c, stations)
	go func() {
		for i := range count {
			_, _ = at[0].conn.Write(frame4(group, station(0), udp, i))
		}
		_, _ = at[0].conn.Write(frame4(group, station(0), tcp, count))
	}()
	got := make([][]int, stations)
	for i := 1; i < stations; i++ {
		for {
			n := numberOf(at[i].receive())
			if n == count {
				break
			}
			got[i] = append(got[i], n)
		}
	}
	return s, got
}

func TestSwitchLosesAsSeeded(t *testing.T) {
	const count = 2000
	s, got := arrivals(t, Config{Loss: 0.25, Seed: 7, Queue: count + 1}, 3, count)
	_, again := arrivals(t, Config{Loss: 0.25, Seed: 7, Queue: count + 1}, 3, count)
	_, other := arrivals(t, Config{Loss: 0.25, Seed: 8, Queue: count + 1}, 3, count)
	require.Equal(t, got, again)
	require.NotEqual(t, got, other)
	require.NotEqual(t, got[1], got[2], "losses of two receivers are independent")
	for _, g := range got[1:] {
		require.InDelta(t, 0.75*count, len(g), 0.05*count)
	}
	require.EqualValues(t, 2*count-len(got[1])-len(got[2]), s.Counts().Lost)
	require.Zero(t, s.Counts().Overflowed)
}

func TestSwitchLosesAllOrNothing(t *testing.T) {
	for loss, want := range map[float64]int{0: 300, 1: 0} {
		_, got := arrivals(t, Config{Loss: loss, Queue: 301}, 2, 300)
		require.Len(t, got[1], want)
	}
}

// TestSwitchDropsWhatIsTooMuch checks that frames wait for a port whose link does not take them,
// that the switch drops and counts frames beyond the queue, and that other ports do not wait.
func TestSwitchDropsWhatIsTooMuch(t *testing.T) {
	const count = 3000
	s, at := plugged(t, Config{Queue: 2}, 2)
	blocked, end, err := Pair()
	require.NoError(t, err)
	run := s.Plug(blocked)
	ended := make(chan error)
	go func() { ended <- run() }()
	for i := range count {
		f := frame4(everybody, station(0), udp, i)
		at[0].send(f)
		at[1].receives(f)
	}
	require.Positive(t, s.Counts().Overflowed)
	require.NoError(t, blocked.Close()) // while it waits for its far end to take a frame
	require.NoError(t, <-ended)
	require.NoError(t, end.Close())
}

// TestSwitchGoesOnWithoutAStation checks that a closed far end is no error, and that others go on.
func TestSwitchGoesOnWithoutAStation(t *testing.T) {
	s, at := plugged(t, Config{Queue: 2}, 2)
	gone, end, err := Pair()
	require.NoError(t, err)
	run := s.Plug(gone)
	ended := make(chan error)
	go func() { ended <- run() }()
	require.NoError(t, end.Close())
	for i := range 10 {
		f := frame4(everybody, station(0), udp, i)
		at[0].send(f)
		at[1].receives(f)
	}
	require.NoError(t, gone.Close())
	require.NoError(t, <-ended)
}

func TestErrorOfALinkIsTold(t *testing.T) {
	run := New(Config{Queue: 1}).Plug(broken{})
	require.ErrorContains(t, run(), "torn")
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, fmt.Errorf("torn") }
func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWhichFramesCarryUDP(t *testing.T) {
	frame6 := func(next byte, length int) []byte {
		packet := make([]byte, length)
		if length > 6 {
			packet[6] = next
		}
		return append(append(make([]byte, 12), 0x86, 0xdd), packet...)
	}
	arp := append(make([]byte, 12), 0x08, 0x06)
	for i, c := range []struct {
		frame []byte
		want  bool
	}{
		{frame4(everybody, station(1), udp, 0), true},
		{frame4(everybody, station(1), tcp, 0), false},
		{frame6(udp, 40), true},
		{frame6(tcp, 40), false},
		{frame6(udp, 39), false},
		{append(arp, make([]byte, 28)...), false},
		{arp, false},
	} {
		require.Equal(t, c.want, carriesUDP(c.frame), "case %d", i)
	}
}

// TestAnyFrame checks that no frame makes the switch fail, however broken it is.
func TestAnyFrame(t *testing.T) {
	s := New(Config{Loss: 0.5, Queue: 1})
	s.Plug(nil)
	s.Plug(nil)
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "frame")
		for _, to := range s.receivers(s.ports[0], frame) {
			require.NotSame(t, s.ports[0], to)
			carriesUDP(frame)
		}
	})
}
