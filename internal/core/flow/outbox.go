package flow

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Outbox holds the waiting actions of an operation: its rules have asked for them, and something
// blocks them. Each action has one Reason. Actions with the same reason leave in the order in which
// they came. There is one exception: puts to different ranks do not wait for each other's reports.
type Outbox [reasons]queue

// Reason is why an action waits.
type Reason uint8

// The reasons.
const (
	ByEntry  Reason = iota // a put: its receiver may not have entered the operation
	ByReport               // a put: its receiver may get the chunk by multicast, and reports: see Yields
	ByRoom                 // a multicast: its receivers have no room for it yet: see Window
	ByWork                 // a fold: it is long, and done in parts
	reasons
)

var reasonNames = [reasons]string{"entry", "report", "room", "work"}

// String returns what the action waits for: entry, report, room or work.
func (r Reason) String() string { return reasonNames[r] }

// Reasons returns all reasons.
func Reasons() []Reason { return []Reason{ByEntry, ByReport, ByRoom, ByWork} }

// queue holds actions in order. Those before first have left.
type queue struct {
	list  []ir.Action
	first int
}

// Add makes the actions of a message wait. They are copied.
func (b *Outbox) Add(r Reason, message ...ir.Action) { b[r].list = append(b[r].list, message...) }

// All returns the actions that wait because of r, valid until the next change.
func (b *Outbox) All(r Reason) []ir.Action { return b[r].list[b[r].first:] }

// Has reports whether actions wait because of r.
func (b *Outbox) Has(r Reason) bool { return len(b[r].list) > b[r].first }

// Empty reports whether no action waits.
func (b *Outbox) Empty() bool {
	return !b.Has(ByEntry) && !b.Has(ByReport) && !b.Has(ByRoom) && !b.Has(ByWork)
}

// Pop removes the first n actions that wait because of r.
func (b *Outbox) Pop(r Reason, n int) {
	q := &b[r]
	if q.first += n; q.first == len(q.list) {
		q.list, q.first = q.list[:0], 0
	}
}

// Release removes the actions that wait because of r and for which leaves returns true, and returns
// their number. leaves may send the action, and may make it wait for another reason.
func (b *Outbox) Release(r Reason, leaves func(ir.Action) bool) (n int) {
	q := &b[r]
	kept := q.list[:q.first]
	for _, a := range q.list[q.first:] {
		if leaves(a) {
			n++
		} else {
			kept = append(kept, a)
		}
	}
	q.list = kept
	b.Pop(r, 0)
	return n
}

// Clear removes all actions.
func (b *Outbox) Clear() {
	for r := range b {
		b[r] = queue{list: b[r].list[:0]}
	}
}

// Normalize removes differences between outboxes that have no effect. It drops entries that have left
// already, and sorts puts that wait for reports.
func (b *Outbox) Normalize() {
	for r := range b {
		b[r] = queue{list: b.All(Reason(r))}
	}
	slices.SortFunc(b[ByReport].list, func(a, b ir.Action) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Slot, b.Slot))
	})
}
