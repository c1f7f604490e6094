package ir

// Header says what a schedule is a schedule of.
type Header struct {
	Collective string  // the name of a row of the table of collectives, such as "bcast"; see Collective
	Algorithm  string  // the name after the slash, such as "mcast-chain"
	Ranks      int     // number of ranks, 1 … MaxRanks
	Root       int     // the root, or the origin of an anycast; 0 for a collective that has none
	Chunks     int     // chunks of all blocks, a multiple of their number, at most MaxChunks; of a barrier those that it multicasts, 0 … MaxChunks, of no bytes
	Recovers   bool    // the programs say who recovers what from whom; never of a barrier
	Params     []Param // the algorithm's parameters, sorted by name
}

// Name returns the algorithm's full name, "bcast/mcast-chain".
func (h *Header) Name() string { return h.Collective + "/" + h.Algorithm }

// Param is one named parameter of an algorithm, such as degree=3.
type Param struct {
	Name  string // lower-case letters, digits and hyphens; not ranks, root or chunks
	Value int    // 0 … MaxParam
}

// Schedule is the programs of all ranks: Programs[r].Rank == r for r in
// 0 … Ranks-1. It is plain data; what an analysis computes lies beside it. In
// all of it an empty list is nil, so that equal schedules are deeply equal.
type Schedule struct {
	Header
	Programs []Program
}

// Program is what one rank does in one operation.
type Program struct {
	Rank    int
	Signals int    // the rank has the signal slots s0 … s<Signals-1>
	Values  int    // the rank has the partial results v0 … v<Values-1>
	Rules   []Rule // fired in this order where several are ready at once
	Done    []Slot // the operation returns when these are set
	Recovery
}

// Rule fires once, when every slot of When is set, and then does Do in order.
//
// A rule with Unless set is a repair: while When holds and Unless is not set,
// it does Do after After times the base timeout (0: at once) and again with
// growing waits. The slices may be shared between rules and must not be
// modified.
type Rule struct {
	When   []Slot
	Do     []Action
	Unless Slot // None: the rule is not a repair
	After  int  // multiples of the base timeout, ≥ 0; 0 unless a repair
}

// IsRepair reports whether the rule is a repair rule.
func (r *Rule) IsRepair() bool { return r.Unless != None }

// Op is what an action does.
type Op uint8

// The operations.
const (
	Put   Op = iota + 1 // reliable transfer of one slot to one rank
	Mcast               // unreliable transfer of one chunk to all other ranks
	Fold                // local: one operand of a fold
)

// String returns the operation's spelling, "put", "mcast" or "fold".
func (o Op) String() string {
	switch o {
	case Put:
		return "put"
	case Mcast:
		return "mcast"
	case Fold:
		return "fold"
	}
	return "op?"
}

// Action moves one slot, or is one operand of a fold. For a Put of a signal, Slot is the signal's
// number at the destination.
//
// Puts of several slots to one rank may make up one message, and a fold may have several operands.
// Then the actions follow each other in a rule, and all but the first of them have Joins set.
// Whatever a check proves of each put by itself is right for such a message too.
type Action struct {
	Op    Op
	Joins bool  // of a Put: it goes in the message of the action before it; of a Fold: it is the next operand
	Slot  Slot  // what is sent, or the operand
	To    int32 // destination rank of a Put, 0 for others

	// As is the partial result that a Put makes at the destination, None if it sets Slot there. Of a Fold it is the partial result or the chunk that is made: it
	// becomes ((A·B)·C)… for operands A, B, C …, and a copy of a single operand.
	As Slot
}

// Sets returns the slot that the action sets where it acts: at the destination of a put, at all
// other ranks for a multicast, at its own rank for a fold, which only its last operand completes.
func (a Action) Sets() Slot {
	if a.As != None {
		return a.As
	}
	return a.Slot
}

// PutTo returns the action that puts slot s to rank to.
func PutTo(s Slot, to int) Action { return Action{Op: Put, Slot: s, To: int32(to)} }

// PutAll returns the actions that put chunks to rank to in one message.
func PutAll(to int, chunks ...Slot) []Action {
	message := make([]Action, len(chunks))
	for i, c := range chunks {
		message[i] = Action{Op: Put, Joins: i > 0, Slot: c, To: int32(to)}
	}
	return message
}

// PutAs returns the action that puts slot s to rank to, where it becomes partial result v.
func PutAs(s Slot, to int, v Slot) Action { return Action{Op: Put, Slot: s, To: int32(to), As: v} }

// PutAllAs returns the actions that put slots to rank to in one message, where they are what as
// calls them, which is as long.
func PutAllAs(to int, slots, as []Slot) []Action {
	message := PutAll(to, slots...)
	for i, v := range as {
		if v != slots[i] {
			message[i].As = v
		}
	}
	return message
}

// FoldOf returns the actions that make slot made of the operands, from left to right.
func FoldOf(made Slot, operands ...Slot) []Action {
	fold := make([]Action, len(operands))
	for i, x := range operands {
		fold[i] = Action{Op: Fold, Joins: i > 0, Slot: x, As: made}
	}
	return fold
}

// MessageOf returns the first actions of do that make up one message or one fold. do is not empty.
func MessageOf(do []Action) []Action {
	n := 1
	for n < len(do) && do[n].Joins {
		n++
	}
	return do[:n]
}

// McastOf returns the action that multicasts chunk slot s.
func McastOf(s Slot) Action { return Action{Op: Mcast, Slot: s} }

// ChunkBounds returns the half-open byte range [lo, hi) of chunk k of a
// message of n bytes cut into chunks chunks (paper 004, equation 3, counted
// from 0): n ≥ 0, 1 ≤ chunks ≤ MaxChunks, 0 ≤ k < chunks. It does not overflow
// for any n that fits an int.
func ChunkBounds(n, chunks, k int) (lo, hi int) {
	return scale(n, chunks, k), scale(n, chunks, k+1)
}

// scale returns ⌊k·n/f⌋ without computing k·n: with n = q·f + r it is
// k·q + ⌊k·r/f⌋, where k·q ≤ n and k·r < f² fit an int.
func scale(n, f, k int) int {
	q, r := n/f, n%f
	return k*q + k*r/f
}
