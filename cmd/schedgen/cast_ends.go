package main

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// castWord is what a receiver tells the sender of itself when it comes.
type castWord struct {
	ID   string `json:"id"`             // of its process
	Goal string `json:"goal,omitempty"` // the same for one that was started again: of its name and where it writes to
	Mute string `json:"mute,omitempty"` // why it cannot multicast
	// Resume says that what it has counts.
	Resume bool `json:"resume,omitempty"`
	// Stream is the one of which Have bytes have come; see castNote.
	Stream string `json:"stream,omitempty"`
	Have   int64  `json:"have,omitempty"`
}

// maxMute is how much is told of why, in bytes.
const maxMute = 256

func newCastWord(goal ...string) castWord {
	sum := sha256.Sum256([]byte(strings.Join(goal, "\x00")))
	return castWord{ID: rand.Text(), Goal: hex.EncodeToString(sum[:16])}
}

func (w *castWord) spell() string {
	w.Mute = w.Mute[:min(len(w.Mute), maxMute)]
	b, err := json.Marshal(w)
	if err != nil {
		return "" // there is nothing in it that cannot be spelt
	}
	return string(b)
}

// wordOf reads what a guest tells; one that tells nothing that is known is known by its name.
func wordOf(g *lobby.Guest) castWord {
	var w castWord
	_ = json.Unmarshal([]byte(g.Word), &w)
	w.ID = cmp.Or(w.ID, g.Name)
	return w
}

// castEnds is how it has ended at each receiver, over all rounds.
type castEnds struct {
	list  []*castEnd // in the order in which they were served first
	byID  map[string]*castEnd
	round int
}

// castEnd is that of one process.
type castEnd struct {
	castReceiver
	goal  string
	round int // the last in which it was served
}

// begin takes note of those that are served now.
func (e *castEnds) begin(party []lobby.Guest) {
	e.round++
	for i := range party {
		w := wordOf(&party[i])
		if e.byID == nil {
			e.byID = map[string]*castEnd{}
		}
		if e.byID[w.ID] == nil {
			e.byID[w.ID] = &castEnd{}
			e.list = append(e.list, e.byID[w.ID])
		}
		*e.byID[w.ID] = castEnd{castReceiver{party[i].Name, cast.Outcome{Rank: i + 1}}, w.Goal, e.round}
	}
}

// fail takes note of those that have no reason yet: they do not have all.
func (e *castEnds) fail(party []lobby.Guest, why error) {
	for i := range party {
		if r := e.byID[wordOf(&party[i]).ID]; r.Reason == "" {
			r.Done, r.Reason = false, why.Error()
		}
	}
}

// unserved takes note of those that have waited for a round that never came, for a reason.
func (e *castEnds) unserved(waiting []lobby.Guest, why error) {
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

// end takes note of how it has ended for those that were served.
func (e *castEnds) end(party []lobby.Guest, outcomes []cast.Outcome) {
	for i := range outcomes {
		e.byID[wordOf(&party[i]).ID].Outcome = outcomes[i]
	}
}

// last returns how it has ended for a guest when it was served last; it is empty if that was never.
func (e *castEnds) last(g *lobby.Guest) cast.Outcome {
	if r := e.byID[wordOf(g).ID]; r != nil {
		return r.Outcome
	}
	return cast.Outcome{}
}

// receivers returns how it has ended. A receiver that has failed and was started again counts as the later one.
func (e *castEnds) receivers() (all []castReceiver) {
	for _, r := range e.list {
		if !e.again(r) {
			all = append(all, r.castReceiver)
		}
	}
	return all
}

// again reports whether a receiver that has failed came again as another process.
func (e *castEnds) again(r *castEnd) bool {
	return !r.Done && r.goal != "" && slices.ContainsFunc(e.list, func(other *castEnd) bool {
		return other.goal == r.goal && other.round > r.round
	})
}

// done returns how many have all.
func (e *castEnds) done() (n int) {
	for _, r := range e.list {
		if r.Done {
			n++
		}
	}
	return n
}

// names returns who has all.
func (e *castEnds) names() map[string]bool {
	names := map[string]bool{}
	for _, r := range e.list {
		names[r.Name] = names[r.Name] || r.Done
	}
	return names
}
