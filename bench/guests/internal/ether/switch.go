// Package ether is an Ethernet switch in one process, which loses frames if
// asked.
package ether

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// Counts say what a switch has done with copies of frames, one for each port
// that a frame is to leave by.
type Counts struct {
	Sent       int64 // given to a port's link
	Lost       int64 // dropped as Config.Loss says
	Overflowed int64 // dropped since the port's queue was full
}

// Config says what a switch is like.
type Config struct {
	Loss  float64 // probability with which a copy of a frame that carries UDP is dropped
	Seed  uint64  // which copies: the same ones of the same frames in the same order between two ports
	Queue int     // frames that wait for a port, at least 1
}

// Switch forwards frames between its ports. It learns where addresses are, and
// sends to all other ports what is for many or for an address that it does not
// know.
type Switch struct {
	config Config
	counts struct{ sent, lost, overflowed atomic.Int64 }

	mu    sync.Mutex
	ports []*port
	where map[address]*port
}

// port is one link and what waits for it.
type port struct {
	number int
	queue  chan []byte
}

// New returns a switch without ports.
func New(c Config) *Switch {
	return &Switch{config: c, where: map[address]*port{}}
}

// Counts returns what the switch has done so far.
func (s *Switch) Counts() Counts {
	return Counts{s.counts.sent.Load(), s.counts.lost.Load(), s.counts.overflowed.Load()}
}

// Plug adds a port. Each Read of its link takes one frame and each Write gives
// one. The function that it returns forwards until the link is closed, and
// returns the error if another ends it. What comes for the port before that
// function runs waits for it.
func (s *Switch) Plug(link io.ReadWriter) (run func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &port{number: len(s.ports), queue: make(chan []byte, s.config.Queue)}
	s.ports = append(s.ports, p)
	return func() error { return s.run(p, link) }
}

func (s *Switch) run(p *port, link io.ReadWriter) error {
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { s.write(p, link, stop) })
	err := s.read(p, link)
	close(stop)
	writing.Wait()
	return err
}

// read forwards all frames that come from the link until it ends.
func (s *Switch) read(p *port, link io.Reader) error {
	losses := map[int]*rand.Rand{}
	buffer := make([]byte, 1<<16)
	for {
		n, err := link.Read(buffer)
		switch {
		case ended(err):
			return nil
		case err != nil:
			return err
		}
		frame := buffer[:n]
		for _, to := range s.receivers(p, frame) {
			s.forward(p, to, frame, losses)
		}
	}
}

// ended reports whether err says that nobody is at a link's other end any more,
// or that it has been closed here.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) || disconnected(err)
}

// receivers learns where frame comes from and returns the ports that it is to
// leave by.
func (s *Switch) receivers(from *port, frame []byte) []*port {
	if len(frame) < headerLength {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if source := sourceOf(frame); !source.forMany() {
		s.where[source] = from
	}
	destination := destinationOf(frame)
	if to := s.where[destination]; to != nil && !destination.forMany() {
		if to == from {
			return nil
		}
		return []*port{to}
	}
	others := make([]*port, 0, len(s.ports))
	for _, to := range s.ports {
		if to != from {
			others = append(others, to)
		}
	}
	return others
}

// forward queues a copy of frame for a port, or drops it. Between each two
// ports chance is a sequence of its own, so it does not depend on how frames of
// several senders interleave.
func (s *Switch) forward(from, to *port, frame []byte, losses map[int]*rand.Rand) {
	if s.config.Loss > 0 && carriesUDP(frame) {
		chance := losses[to.number]
		if chance == nil {
			chance = rand.New(rand.NewPCG(s.config.Seed, uint64(from.number)<<32|uint64(to.number)))
			losses[to.number] = chance
		}
		if chance.Float64() < s.config.Loss {
			s.counts.lost.Add(1)
			return
		}
	}
	select {
	case to.queue <- append([]byte(nil), frame...):
	default:
		s.counts.overflowed.Add(1)
	}
}

// write gives the link what waits for it. A link that takes no more is noticed
// by whoever reads from it.
func (s *Switch) write(p *port, link io.Writer, stop <-chan struct{}) {
	for {
		select {
		case frame := <-p.queue:
			if _, err := link.Write(frame); err == nil {
				s.counts.sent.Add(1)
			}
		case <-stop:
			return
		}
	}
}
