package ir

import "slices"

// Header says what a schedule does.
type Header struct {
	// Collective is the name of a row of the table of collectives, such as "bcast"; see
	// [Collective].
	Collective string
	Algorithm  string // the name after the slash, such as "mcast-chain"
	Ranks      int    // number of ranks, 1 … MaxRanks
	Root       int    // the root, or the origin of a published message; 0 for a collective that has none
	// Chunks is the number of chunks of all blocks together. It is a multiple of the number of
	// blocks and at most MaxChunks. For a barrier it is the number of chunks that the barrier
	// multicasts, 0 … MaxChunks, and these have no bytes.
	Chunks   int
	Recovers bool    // the programs say how ranks recover lost multicasts; false for a barrier
	Params   []Param // the algorithm's parameters, sorted by name
}

// Name returns the algorithm's full name, such as "bcast/mcast-chain".
func (h *Header) Name() string { return h.Collective + "/" + h.Algorithm }

// Param is one named parameter of an algorithm, such as degree=3.
type Param struct {
	Name  string // lower-case letters, digits and hyphens; not ranks, root or chunks
	Value int    // 0 … MaxParam
}

// Schedule is the programs of all ranks: Programs[r].Rank == r for r in 0 … Ranks-1. It is plain
// data without results of analyses. Every empty list in it is nil, so equal schedules are deeply
// equal.
type Schedule struct {
	Header
	Programs []Program // by rank
}

// Program is what one rank does in one operation.
type Program struct {
	Rank    int    // the rank that runs it
	Signals int    // the rank has the signal slots s0 … s<Signals-1>
	Values  int    // the rank has the partial results v0 … v<Values-1>
	Rules   []Rule // in the order in which ready rules fire
	Done    []Slot // the operation returns when all these are set
	Recovery

	// Names says what the author calls slots of the rank, for pictures and counterexamples. It is
	// no part of the text and JSON forms.
	Names map[Slot]string
}

// Multicasts reports whether a rule of p multicasts.
func (p *Program) Multicasts() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		return slices.ContainsFunc(r.Do, func(a Action) bool { return a.Op == Mcast })
	})
}

// Rule fires once, when every slot of When is set. It then does the actions of Do in order.
//
// A rule with Unless set is a repair. A repair acts if When holds and Unless is not set after After
// times the base timeout. An After of 0 means at once. It then repeats Do, at growing intervals,
// until Unless is set. A runtime need not be exact. It may make a repair that puts only signals
// sooner, if operations follow each other fast. It postpones a repair that puts chunks while the
// rank's earlier sends are leaving, since the repair would only queue behind them. So of several
// repairs of one rank that put chunks and are due at the same time, it makes one, and each of the
// others waits several times as long as the one before it: four times in package runtime, twice in
// package sim. Repairs with different values of After do not delay each other in this way.
//
// Rules may share slices, so callers must not modify them.
type Rule struct {
	When   []Slot   // slots of this rank
	Do     []Action // in this order
	Unless Slot     // None: the rule is not a repair
	After  int      // multiples of the base timeout, ≥ 0; 0 unless the rule is a repair
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

// String returns the operation's spelling: "put", "mcast" or "fold".
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

// Action moves one slot, or is one operand of a fold. In a Put of a signal, Slot is the signal's
// number at the destination.
//
// Several puts to one rank may form one message, and a fold may have several operands. The actions
// of such a message or fold follow each other in a rule, and all but the first have Joins set. A
// property that a check proves of each single put also holds for the message.
type Action struct {
	Op    Op    // Put, Mcast or Fold
	Joins bool  // Put: it belongs to the message of the action before it; Fold: it is the next operand
	Slot  Slot  // the slot that is sent, or the operand
	To    int32 // destination rank of a Put, else 0

	// As is the slot that a Put sets at the destination if that is a partial result. It is None if
	// the Put sets Slot there. For a Fold, As is the partial result or chunk that the fold makes:
	// ((A·B)·C)… for operands A, B, C …, or a copy of a single operand.
	As Slot
}

// Sets returns the slot that the action sets. A put sets it at the destination, a multicast at all
// other ranks, and a fold at its own rank. Only the last operand completes a fold.
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

// PutAs returns the action that puts slot s to rank to, where it sets partial result v.
func PutAs(s Slot, to int, v Slot) Action { return Action{Op: Put, Slot: s, To: int32(to), As: v} }

// PutAllAs returns the actions that put slots to rank to in one message. as is as long as slots and
// holds the name of each slot at the destination. That is a partial result, or the slot itself if
// it is a chunk that keeps its name.
func PutAllAs(to int, slots, as []Slot) []Action {
	message := PutAll(to, slots...)
	for i, v := range as {
		if v.Kind() == KindValue {
			message[i].As = v
		}
	}
	return message
}

// FoldOf returns the actions that fold the operands, from left to right, into slot made.
func FoldOf(made Slot, operands ...Slot) []Action {
	fold := make([]Action, len(operands))
	for i, x := range operands {
		fold[i] = Action{Op: Fold, Joins: i > 0, Slot: x, As: made}
	}
	return fold
}

// MessageOf returns the first actions of do that form one message or one fold. do must not be
// empty.
func MessageOf(do []Action) []Action {
	n := 1
	for n < len(do) && do[n].Joins {
		n++
	}
	return do[:n]
}

// McastOf returns the action that multicasts chunk slot s.
func McastOf(s Slot) Action { return Action{Op: Mcast, Slot: s} }

// ChunkBounds returns the half-open byte range [lo, hi) of chunk k of a message of n bytes with the
// given number of chunks (paper 004, equation 3, counted from 0). It requires n ≥ 0, 1 ≤ chunks ≤
// MaxChunks and 0 ≤ k < chunks. It does not overflow for any n.
func ChunkBounds(n, chunks, k int) (lo, hi int) {
	// With n = q·f + r, ⌊k·n/f⌋ is k·q + ⌊k·r/f⌋. Both k·q ≤ n and k·r < f² fit an int; k·n may not.
	q, r := n/chunks, n%chunks
	if lo, hi = k*q, (k+1)*q; r == 0 {
		return lo, hi
	}
	return lo + k*r/chunks, hi + (k+1)*r/chunks
}
