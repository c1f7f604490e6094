package compare

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// multicast sends datagrams to all other processes, one at a time, and returns for each the time
// until the last process had it. Processes of one machine share its clock.
func multicast(ctx context.Context, l *limit) (_ []float64, err error) {
	group := fmt.Sprintf("239.%d.%d.%d:%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254), 20000+rand.IntN(10000))
	var children []*child
	defer func() {
		for _, c := range children {
			err = errors.Join(err, c.stop())
		}
	}()
	for range l.ranks - 1 {
		c, err := startChild(ctx, "multicast", group, strconv.Itoa(l.bytes))
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	if _, err := latestTime(children); err != nil { // each child reports that it has joined
		return nil, err
	}
	conn, err := multicastSender(ctx, group)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // all has been received
	return sendEach(conn, children, l)
}

func sendEach(conn net.Conn, children []*child, l *limit) ([]float64, error) {
	var times []float64
	buf := make([]byte, l.bytes)
	for i := -l.repeats / 10; i < l.repeats; i++ {
		start := time.Now().UnixNano()
		if _, err := conn.Write(buf); err != nil {
			return nil, err
		}
		end, err := latestTime(children)
		if err != nil {
			return nil, fmt.Errorf("datagram %d: %w", i, err)
		}
		if i >= 0 {
			times = append(times, float64(end-start)/1e3)
		}
	}
	return times, nil
}

// latestTime reads one time from each child and returns the latest.
func latestTime(children []*child) (int64, error) {
	var latest int64
	var buf [8]byte
	for _, c := range children {
		if _, err := io.ReadFull(c.out, buf[:]); err != nil {
			return 0, err
		}
		latest = max(latest, int64(binary.LittleEndian.Uint64(buf[:])))
	}
	return latest, nil
}

// multicastSender sends to the group by the loopback interface.
func multicastSender(ctx context.Context, group string) (net.Conn, error) {
	var refused error
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		err := c.Control(func(fd uintptr) {
			refused = syscall.SetsockoptInet4Addr(int(fd), syscall.IPPROTO_IP, syscall.IP_MULTICAST_IF, [4]byte{127, 0, 0, 1})
		})
		return errors.Join(err, refused)
	}}
	return d.DialContext(ctx, "udp4", group)
}

// receiveMulticast joins the group, reports so, and reports the time of each datagram until its
// parent ends it.
func receiveMulticast(group string, bytes int, out io.Writer) error {
	address, err := net.ResolveUDPAddr("udp4", group)
	if err != nil {
		return err
	}
	lo, err := loopback()
	if err != nil {
		return err
	}
	conn, err := net.ListenMulticastUDP("udp4", lo, address)
	if err != nil {
		return err
	}
	defer conn.Close() // its parent ends it
	// If the parent dies, this process ends, too.
	if err := conn.SetReadDeadline(time.Now().Add(2 * limitTime)); err != nil {
		return err
	}
	if err := tellTime(out); err != nil {
		return err
	}
	buf := make([]byte, bytes)
	for {
		switch _, _, err := conn.ReadFromUDPAddrPort(buf); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
		if err := tellTime(out); err != nil {
			return err
		}
	}
}

func tellTime(out io.Writer) error {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(time.Now().UnixNano()))
	_, err := out.Write(buf[:])
	return err
}

func loopback() (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Flags&net.FlagLoopback != 0 {
			return &all[i], nil
		}
	}
	return nil, errors.New("there is no loopback interface")
}
