package cast

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime/meet/lobby"
)

// guestWord is what a receiver tells the sender about itself when it comes.
type guestWord struct {
	ID   string `json:"id"`             // of its process
	Goal string `json:"goal,omitempty"` // the same for one that was started again: of its name and where it writes to
	Mute string `json:"mute,omitempty"` // why it cannot multicast
	// Resume says that what it has counts.
	Resume bool `json:"resume,omitempty"`
	// Stream is the one of which Have bytes have come; see roundNote.
	Stream string `json:"stream,omitempty"`
	Have   int64  `json:"have,omitempty"`
}

// maxMute is how much is told of why, in bytes.
const maxMute = 256

func newGuestWord(goal ...string) guestWord {
	sum := sha256.Sum256([]byte(strings.Join(goal, "\x00")))
	return guestWord{ID: rand.Text(), Goal: hex.EncodeToString(sum[:16])}
}

func (w *guestWord) spell() string {
	w.Mute = w.Mute[:min(len(w.Mute), maxMute)]
	b, err := json.Marshal(w)
	if err != nil {
		return "" // there is nothing in it that cannot be spelt
	}
	return string(b)
}

// wordOf reads what a guest tells; one that tells nothing that is known is known by its name.
func wordOf(g *lobby.Guest) guestWord {
	var w guestWord
	_ = json.Unmarshal([]byte(g.Word), &w)
	w.ID = cmp.Or(w.ID, g.Name)
	return w
}

// ledger holds the outcome of each receiver, over all rounds.
type ledger struct {
	list  []*ledgerEntry // in the order in which they were served first
	byID  map[string]*ledgerEntry
	round int
}

// ledgerEntry is the outcome of one receiver process.
type ledgerEntry struct {
	Receiver
	goal  string
	round int // the last in which it was served
}

// begin notes the receivers of a new round.
func (e *ledger) begin(party []lobby.Guest) {
	e.round++
	for i := range party {
		w := wordOf(&party[i])
		if e.byID == nil {
			e.byID = map[string]*ledgerEntry{}
		}
		if e.byID[w.ID] == nil {
			e.byID[w.ID] = &ledgerEntry{}
			e.list = append(e.list, e.byID[w.ID])
		}
		*e.byID[w.ID] = ledgerEntry{Receiver{Name: party[i].Name, Outcome: Outcome{Rank: i + 1}}, w.Goal, e.round}
	}
}

// fail notes that receivers of a party without a reason do not have everything, and why.
func (e *ledger) fail(party []lobby.Guest, why error) {
	for i := range party {
		if r := e.byID[wordOf(&party[i]).ID]; r.Reason == "" {
			r.Done, r.Reason = false, why.Error()
		}
	}
}

// unserved notes receivers that have waited for a round that never began, and why.
func (e *ledger) unserved(waiting []lobby.Guest, why error) {
	for i := range waiting {
		id := wordOf(&waiting[i]).ID
		if e.byID[id] == nil {
			e.begin(waiting[i : i+1])
			e.byID[id].Rank = 0
		}
		r := e.byID[id]
		r.Done, r.Reason = false, why.Error()
	}
}

// end notes the outcomes of a round.
func (e *ledger) end(party []lobby.Guest, outcomes []Outcome) {
	for i := range outcomes {
		e.byID[wordOf(&party[i]).ID].Outcome = outcomes[i]
	}
}

// last returns the outcome of a guest's last round, or an empty one if it has had none.
func (e *ledger) last(g *lobby.Guest) Outcome {
	if r := e.byID[wordOf(g).ID]; r != nil {
		return r.Outcome
	}
	return Outcome{}
}

// receivers returns how it has ended. A receiver that has failed and was started again counts as
// the later one.
func (e *ledger) receivers() (all []Receiver) {
	for _, r := range e.list {
		if !e.again(r) {
			all = append(all, r.Receiver)
		}
	}
	return all
}

// again reports whether a receiver that has failed came again as another process.
func (e *ledger) again(r *ledgerEntry) bool {
	return !r.Done && r.goal != "" && slices.ContainsFunc(e.list, func(other *ledgerEntry) bool {
		return other.goal == r.goal && other.round > r.round
	})
}

// done returns the number of receivers that have everything.
func (e *ledger) done() (n int) {
	for _, r := range e.list {
		if r.Done {
			n++
		}
	}
	return n
}

// names returns the names of the receivers, and whether they have everything.
func (e *ledger) names() map[string]bool {
	names := map[string]bool{}
	for _, r := range e.list {
		names[r.Name] = names[r.Name] || r.Done
	}
	return names
}
