package remote

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// maxFetchers is the greatest number of hosts that fetch from one host at a time.
	maxFetchers = 4
	// fetcherPatience is the longest time that a fetching host may read nothing.
	fetcherPatience = 10 * time.Second
)

// sharing is the beginning of the line that says at which port a program passes on its copy.
const sharing = "schedgen-remote shares "

// Share serves packed, the copy of the program ([Greet]), at a port, or at another port if that one
// is taken. It prints the port to out, the program's standard output. It closes packed, which may
// be nil, at the end. The caller must call stop before it listens at the port itself.
func Share(out io.Writer, packed *os.File, port uint16) (stop func()) {
	l, at := listenAt(packed, port)
	if _, err := fmt.Fprintf(out, "%s%d\n", sharing, at); err != nil && l != nil {
		l.Close() // the client is gone
	}
	if l == nil {
		if packed != nil {
			packed.Close()
		}
		return func() {}
	}
	go func() {
		ServeCopies(l, packed)
		packed.Close()
	}()
	return func() { l.Close() }
}

// listenAt listens at a port, or at any free port. It returns port 0 if there is nothing to pass
// on, or if it cannot listen.
func listenAt(packed *os.File, port uint16) (net.Listener, int) {
	if packed == nil {
		return nil, 0
	}
	l, err := net.Listen("tcp", fmt.Sprint(":", port))
	if err != nil {
		l, err = net.Listen("tcp", ":0")
	}
	if err != nil {
		return nil, 0
	}
	return l, l.Addr().(*net.TCPAddr).Port
}

// ServeCopies sends the packed copy of the program to every host that connects to l, and returns
// when l is closed. It leaves packed open. The copy is not secret, and the hosts check its SHA-256.
func ServeCopies(l net.Listener, packed *os.File) {
	slots := make(chan struct{}, maxFetchers)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		slots <- struct{}{}
		conn, err := l.Accept()
		if err != nil {
			return // closed or out of descriptors: the hosts get it from elsewhere
		}
		all.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			serveCopy(conn, packed)
		})
	}
}

// serveCopy writes the packed copy. A host that leaves, or reads nothing, gets it from elsewhere.
func serveCopy(conn net.Conn, packed *os.File) {
	info, err := packed.Stat()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for from := io.NewSectionReader(packed, 0, info.Size()); ; {
		n, err := from.Read(buf)
		if n == 0 || conn.SetWriteDeadline(time.Now().Add(fetcherPatience)) != nil {
			return
		}
		if _, failed := conn.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}
