package engine

import "github.com/schedgen/schedgen/ir"

// Plan is the program of one rank for one operation in which no message is lost. It is plain data:
// numbers for the tables of the interpreter.
//
// The operation of a rank ends when it has received all Receives, fired all Rules and completed all
// Sends.
type Plan struct {
	Receives []Message // in an order in which they can come: none depends on a later one
	Sends    []Message
	Folds    []Fold
	Rules    []Rule // in the order in which due rules fire
	// Scratch holds, by number of a place in scratch memory, the part of a block for which the
	// place has room.
	Scratch []int32

	Per          int // parts of each block: the schedule's chunks of a block
	Held, Wanted int // numbers of blocks in the send buffer and in the receive buffer

	// OwnHeld and OwnWanted are the places, in blocks, of the first block that is in both buffers,
	// or -1 if there is none. The plan copies the blocks in both buffers, unless they have the same
	// address.
	OwnHeld, OwnWanted int
}

// Message is a message between this rank and another.
type Message struct {
	Peer   int       // the other rank
	Tag    int       // distinguishes it from other messages between the two in this direction
	Slots  []ir.Slot // the slots that the receiver gets, as this rank calls them; some have no bytes
	As     []ir.Slot // of a sent message: the slots as the receiver calls them
	Places []Place   // where the bytes are at this rank
	Due    []int32   // of a received message: the rules that wait for it
}

// Fold makes one part from the operands, from left to right: ((A·B)·C)…. A fold of one operand is a
// copy.
type Fold struct {
	Slot     ir.Slot // the slot that the fold makes
	Made     Place
	Operands []Place
	Due      []int32 // the rules that wait for it
}

// Rule does its Actions when Need messages and folds whose Due names the rule are there.
type Rule struct {
	Need    int
	Actions []Action
}

// Action is the number of a message in Sends, or ^n for number n of Folds.
type Action int32

// Place is the place of a part of a block: a buffer and a number in it.
type Place int32

// The buffers of places.
const (
	SendBuffer    = iota // what the rank holds or contributes, in the order of the parts
	ReceiveBuffer        // what the rank wants, in the order of the parts
	ScratchMemory        // partial results and parts to pass on, numbered as in Plan.Scratch
	buffers
)

func placeIn(buffer, number int) Place { return Place(number*buffers + buffer) }

// Buffer returns the place's buffer.
func (p Place) Buffer() int { return int(p) % buffers }

// Number returns the place's number in its buffer.
func (p Place) Number() int { return int(p) / buffers }

// AllPlaces returns the places of all messages and folds: first of receives, then of sends, then of
// the operands of folds.
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
