// Package ether implements an Ethernet switch in one process, which can lose frames.
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

// Counts are numbers of copies of frames. The switch makes a copy for each port by which a frame
// must leave.
type Counts struct {
	Sent       int64 // given to a port's link
	Lost       int64 // dropped with the probability Config.Loss
	Overflowed int64 // dropped because the queue of the port was full
}

// Config holds the parameters of a switch.
type Config struct {
	Loss  float64 // probability with which a copy of a frame that carries UDP is dropped
	Seed  uint64  // seed of the losses: the same frames in the same order between two ports have the same losses
	Queue int     // number of frames that may wait for a port, at least 1
}

// Switch forwards frames between its ports. It learns the ports of addresses. It sends multicasts,
// broadcasts and frames for an unknown address to all other ports.
type Switch struct {
	config Config
	counts struct{ sent, lost, overflowed atomic.Int64 }

	mu    sync.Mutex
	ports []*port
	where map[address]*port
}

// port is a link and the frames that wait for it.
type port struct {
	number int
	queue  chan []byte
}

// New returns a switch without ports.
func New(c Config) *Switch {
	return &Switch{config: c, where: map[address]*port{}}
}

// Counts returns the counts so far.
func (s *Switch) Counts() Counts {
	return Counts{s.counts.sent.Load(), s.counts.lost.Load(), s.counts.overflowed.Load()}
}

// Plug adds a port. Each Read of its link must return one frame, and each Write sends one. Plug
// returns a function that forwards frames until the link is closed; it returns any other error that
// ends it. Frames for the port wait until the function runs.
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

// read forwards all frames from the link until it ends.
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

// ended reports whether err says that either end of a link has been closed.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) || disconnected(err)
}

// receivers learns the port of the sender of frame and returns the ports by which the frame must
// leave.
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

// forward queues a copy of frame for a port, or drops it. Each pair of ports has its own sequence
// of random numbers, so losses do not depend on the order of frames of different senders.
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

// write sends the waiting frames to the link. It ignores errors, which the reader of the link
// notices, too.
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
