package cast

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// guestWord is what a receiver tells the sender about itself when it enters the lobby.
type guestWord struct {
	ID   string `json:"id"`             // identifies its process
	Goal string `json:"goal,omitempty"` // hash of its name and target; the same if it is started again
	Mute string `json:"mute,omitempty"` // why it cannot multicast
	// Resume says that the receiver lets the sender skip the data that it has.
	Resume bool `json:"resume,omitempty"`
	// Stream is the name of an unfinished stream, of which Have bytes have come; see roundNote.
	Stream string `json:"stream,omitempty"`
	Have   int64  `json:"have,omitempty"`
}

// maxMute is the greatest length of Mute in bytes.
const maxMute = 256

func newGuestWord(goal ...string) guestWord {
	sum := sha256.Sum256([]byte(strings.Join(goal, "\x00")))
	return guestWord{ID: rand.Text(), Goal: hex.EncodeToString(sum[:16])}
}

func (w *guestWord) spell() string {
	w.Mute = w.Mute[:min(len(w.Mute), maxMute)]
	b, err := json.Marshal(w)
	if err != nil {
		return "" // cannot happen: every field can be encoded
	}
	return string(b)
}

// wordOf decodes the word of a guest. If it cannot, the guest's name serves as its ID.
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
	round int  // last round in which it was served
	whole bool // it had everything before that round, and comes again because it did not know that this was counted
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
		whole := e.byID[w.ID].Done
		*e.byID[w.ID] = ledgerEntry{Receiver{Name: party[i].Name, Outcome: Outcome{Rank: i + 1, Done: whole}}, w.Goal, e.round, whole}
	}
}

// has reports whether a receiver had everything before its last round.
func (e *ledger) has(id string) bool { return e.byID[id] != nil && e.byID[id].whole }

// fail notes why the receivers of a party do not have everything. Earlier reasons stay, and
// receivers that had everything before.
func (e *ledger) fail(party []lobby.Guest, why error) {
	for i := range party {
		if r := e.byID[wordOf(&party[i]).ID]; r.Reason == "" && !r.whole {
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
		if r := e.byID[id]; !r.Done {
			r.Reason = why.Error()
		}
	}
}

// end notes the outcomes of a round. A receiver that had everything before has it still.
func (e *ledger) end(party []lobby.Guest, outcomes []Outcome) {
	for i := range outcomes {
		if r := e.byID[wordOf(&party[i]).ID]; !r.whole || outcomes[i].Done {
			r.Outcome = outcomes[i]
		}
	}
}

// last returns the outcome of a guest's last round, or an empty one if it has had none.
func (e *ledger) last(g *lobby.Guest) Outcome {
	if r := e.byID[wordOf(g).ID]; r != nil {
		return r.Outcome
	}
	return Outcome{}
}

// receivers returns the outcomes of all receivers. If a receiver failed and was started again, only
// the later process counts.
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

// served reports whether there was a round, and all receivers of the last one have everything.
func (e *ledger) served() bool {
	return e.round > 0 && !slices.ContainsFunc(e.list, func(r *ledgerEntry) bool { return r.round == e.round && !r.Done })
}

// names returns the names of the receivers, and whether they have everything.
func (e *ledger) names() map[string]bool {
	names := map[string]bool{}
	for _, r := range e.list {
		names[r.Name] = names[r.Name] || r.Done
	}
	return names
}
