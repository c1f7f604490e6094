// Package ether has a network for tests of single ranks and of their parts: it keeps what they send,
// and the test says what arrives next.
package ether

import (
	"bytes"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Ether has all frames under way between Size ranks.
type Ether struct {
	Size  int
	Lanes [][]wire.Frame // of each sender to each receiver, in order: see Lane
	Grams []Gram         // a multicast is one to each other rank
}

// Gram is a datagram: Body is the part of the body from Offset on, and Len the length of the whole.
type Gram struct {
	wire.Frame
	To  int
	All bool // it is a part of a multicast
}

// New returns an Ether without frames.
func New(size int) *Ether {
	return &Ether{Size: size, Lanes: make([][]wire.Frame, size*size*int(wire.Lanes))}
}

// Lane returns the frames under way in a lane of one rank to another.
func (e *Ether) Lane(from, to int, l wire.Lane) *[]wire.Frame {
	return &e.Lanes[(from*e.Size+to)*int(wire.Lanes)+int(l)]
}

// Ends returns the sender and the receiver of Lanes[i].
func (e *Ether) Ends(i int) (from, to int) {
	return i / int(wire.Lanes) / e.Size, i / int(wire.Lanes) % e.Size
}

// Busy returns the indexes in Lanes of the lanes with frames.
func (e *Ether) Busy() (lanes []int) {
	for i, l := range e.Lanes {
		if len(l) > 0 {
			lanes = append(lanes, i)
		}
	}
	return lanes
}

// Net is one rank's access to an Ether. Frames leave at once.
type Net struct {
	*Ether
	Rank  int
	Piece int // bytes of a datagram; 0: datagrams and multicasts are lost
}

// Put puts a frame into its lane to a rank.
func (n Net) Put(to int, f *wire.Frame) {
	l := n.Lane(n.Rank, to, f.Lane)
	*l = append(*l, n.keep(f))
	f.Release()
}

// Mcast sends datagrams to all other ranks.
func (n Net) Mcast(f *wire.Frame) {
	for to := range n.Size {
		if to != n.Rank {
			n.cut(to, true, f)
		}
	}
	f.Release()
}

// Datagram sends datagrams to a rank.
func (n Net) Datagram(to int, f *wire.Frame) {
	n.cut(to, false, f)
	f.Release()
}

func (n Net) cut(to int, all bool, f *wire.Frame) {
	for at := 0; n.Piece > 0; at += n.Piece {
		g := Gram{n.keep(f), to, all}
		end := min(at+n.Piece, len(f.Body))
		g.Body, g.Offset = g.Body[at:end], f.Offset+at
		if n.Grams = append(n.Grams, g); end == len(f.Body) {
			return
		}
	}
}

// keep returns a copy of f, which leaves.
func (n Net) keep(f *wire.Frame) wire.Frame {
	k := wire.Frame{Header: f.Header, Body: bytes.Clone(f.Body), Offset: f.Offset}
	k.From, k.Len = n.Rank, f.Whole()
	return k
}
