package engine

import "github.com/schedgen/schedgen/ir"

// Plan is what one rank does in one operation when no message is lost. It is plain data: numbers for
// the tables of the interpreter.
//
// A rank has received all Receives, fired all Rules and completed all Sends when its operation ends.
type Plan struct {
	Receives []Message // in an order in which they can come: each depends on none after it
	Sends    []Message
	Folds    []Fold
	Rules    []Rule  // fired in this order where several are due at once
	Scratch  []int32 // by number of a place in scratch memory: the part of a block that it has room for

	Per          int // parts of each block: the schedule's chunks of a block
	Held, Wanted int // blocks in the send buffer and in the receive buffer

	// OwnHeld and OwnWanted are the places, in blocks, of the first block that is in both buffers;
	// -1 if there is none. The plan copies what is in both, unless it has one address.
	OwnHeld, OwnWanted int
}

// Message is a message between this rank and another one.
type Message struct {
	Peer   int       // the other rank
	Tag    int       // tells it from other messages between the two in this direction
	Slots  []ir.Slot // what the receiver gets; some of them have no bytes
	Places []Place   // where the bytes are at this rank
	Due    []int32   // of a received message: the rules that wait for it
}

// Fold makes one part of the operands, from left to right: ((A·B)·C)…. A fold of one operand is a
// copy.
type Fold struct {
	Slot     ir.Slot // what is made
	Made     Place
	Operands []Place
	Due      []int32 // the rules that wait for it
}

// Rule is what happens when as many messages and folds as Need, those whose Due names the rule, are
// there.
type Rule struct {
	Need    int
	Actions []Action
}

// Action is the number of a message in Sends, or ^n for number n of Folds.
type Action int32

// Place says where a part of a block is: in which buffer, and at which number there.
type Place int32

// The buffers of places.
const (
	SendBuffer    = iota // what the rank holds or contributes, in the order of the parts
	ReceiveBuffer        // what the rank wants, in the order of the parts
	ScratchMemory        // partial results and what is passed on; numbers are those of Plan.Scratch
	buffers
)

func placeIn(buffer, number int) Place { return Place(number*buffers + buffer) }

// Buffer returns the place's buffer.
func (p Place) Buffer() int { return int(p) % buffers }

// Number returns the place's number in its buffer.
func (p Place) Number() int { return int(p) / buffers }

// AllPlaces returns the places of all messages and folds: first of what is received, then of what is
// sent, then of the operands of folds.
func (p *Plan) AllPlaces() []Place {
	var all []Place
	for i := range p.Receives {
		all = append(all, p.Receives[i].Places...)
	}
	for i := range p.Sends {
		all = append(all, p.Sends[i].Places...)
	}
	for i := range p.Folds {
		all = append(all, p.Folds[i].Operands...)
	}
	return all
}

// AllWaiters returns the rules that wait for messages, followed by the rules that wait for folds.
func (p *Plan) AllWaiters() []int32 {
	var all []int32
	for i := range p.Receives {
		all = append(all, p.Receives[i].Due...)
	}
	for i := range p.Folds {
		all = append(all, p.Folds[i].Due...)
	}
	return all
}

// AllActions returns the actions of all rules.
func (p *Plan) AllActions() []Action {
	var all []Action
	for i := range p.Rules {
		all = append(all, p.Rules[i].Actions...)
	}
	return all
}
