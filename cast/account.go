package cast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// account is what a rank tells all others: after a loss, and in the end.
type account struct {
	Rank   int    `json:"rank"` // in the communicator that the cast began with
	Sender bool   `json:"sender,omitempty"`
	Have   uint64 `json:"have"`             // it has all pieces below this one
	Done   bool   `json:"done,omitempty"`   // all is where it belongs
	Reason string `json:"reason,omitempty"` // why it will not be
	Answer []byte `json:"answer,omitempty"` // what it says to the sender then
	More   bool   `json:"more,omitempty"`   // of the answer
	Behind bool   `json:"behind,omitempty"` // it is to be served behind the others
	Silent bool   `json:"silent,omitempty"` // who is lost has given no sign of life, as far as this rank knows
	Roll   bool   `json:"roll,omitempty"`   // all tell theirs now

	Window *stint `json:"window,omitempty"` // how it keeps up
	Slow   int    `json:"slow,omitempty"`   // of the sender: the rank that is left out
	Leave  bool   `json:"leave,omitempty"`  // and it is to go, not to pass on
}

const (
	maxReason = 1024     // bytes of the longest reason that is told
	answerLen = 64 << 10 // bytes of an answer that an account has; a longer one goes on in the next
	maxAnswer = 16 << 20 // bytes of the longest answer
)

// publish tells all others, by as many messages as the answer takes.
func (a account) publish(ctx context.Context, comm *runtime.Comm) error {
	rest := a.Answer
	for a.More = true; a.More; {
		n := min(len(rest), answerLen)
		a.Answer, rest = rest[:n], rest[n:]
		a.More = len(rest) > 0
		text, err := json.Marshal(&a)
		if err != nil {
			return fmt.Errorf("tell the others: %w", err)
		}
		if err := comm.Publish(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// shorten cuts a reason to what is told.
func shorten(reason string) string {
	if len(reason) > maxReason {
		return reason[:maxReason]
	}
	return reason
}

// resume is what the sender tells all when those that are left begin again.
type resume struct {
	From   uint64 `json:"from"`   // number of the piece that is broadcast next
	Length int    `json:"length"` // its bytes, with its head; 0: all have all pieces
}

// agree has the sender tell where all begin again.
func agree(ctx context.Context, comm *runtime.Comm, r resume) (resume, error) {
	text, err := json.Marshal(&r)
	if err != nil {
		return r, fmt.Errorf("say where to begin: %w", err)
	}
	if text, err = comm.BcastBytes(ctx, text, 0); err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("where to begin: %w", err)
	}
	if r.Length != 0 && (r.Length < headLen || r.Length > pieceLen) {
		return r, fmt.Errorf("where to begin: a piece of %d bytes", r.Length)
	}
	return r, nil
}
