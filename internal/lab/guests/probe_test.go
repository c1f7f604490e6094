//go:build linux

package guests

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// probeVar turns the test program into a program for guests: guest 0 sends probes multicasts, and
// each other guest prints how many it got.
const probeVar = "SCHEDGEN_GUESTS_PROBE"

const probes = 100

var probeGroup = &net.UDPAddr{IP: net.IPv4(239, 78, 0, 1), Port: 7800}

func probe() error {
	if os.Getenv("GUEST") == "0" {
		return sendProbes()
	}
	return receiveProbes()
}

// sendProbes waits until all others listen, sends the probes, and then tells the others so. The
// switch keeps the order.
func sendProbes() error {
	l, err := net.Listen("tcp", ":7800")
	if err != nil {
		return err
	}
	var guests int
	if _, err := fmt.Sscan(os.Getenv("GUESTS"), &guests); err != nil {
		return err
	}
	var others []net.Conn
	for len(others) < guests-1 {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		others = append(others, c)
	}
	to, err := net.DialUDP("udp4", nil, probeGroup)
	if err != nil {
		return err
	}
	for range probes {
		if _, err := to.Write([]byte("probe")); err != nil {
			return err
		}
	}
	for _, c := range others {
		if _, err := c.Write([]byte("sent\n")); err != nil {
			return err
		}
	}
	return nil
}

func receiveProbes() error {
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		return err
	}
	from, err := net.ListenMulticastUDP("udp4", eth0, probeGroup)
	if err != nil {
		return err
	}
	sender, err := net.Dial("tcp", "guest0:7800")
	for err != nil { // until the other guest listens; the host bounds the time
		sender, err = net.Dial("tcp", "guest0:7800")
	}
	if _, err := bufio.NewReader(sender).ReadString('\n'); err != nil {
		return err
	}
	// All probes that were not lost have arrived.
	if err := from.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	got := 0
	for err == nil {
		if _, err = from.Read(make([]byte, 100)); err == nil {
			got++
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	fmt.Println("got", got)
	return nil
}
