package cast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// account is the state of a rank that it tells all others, after a loss and at the end.
type account struct {
	Rank   int    `json:"rank"` // in the first communicator of the cast
	Sender bool   `json:"sender,omitempty"`
	Have   uint64 `json:"have"`             // the rank has all pieces below this one
	Done   bool   `json:"done,omitempty"`   // the rank has written everything
	Reason string `json:"reason,omitempty"` // why it will not
	Answer []byte `json:"answer,omitempty"` // its answer to the sender if Done
	More   bool   `json:"more,omitempty"`   // the answer continues in the next account
	Behind bool   `json:"behind,omitempty"` // it is served after the others
	Silent bool   `json:"silent,omitempty"` // as far as this rank knows, the lost ranks have given no sign of life
	Roll   bool   `json:"roll,omitempty"`   // the account belongs to a roll call

	Window *stint `json:"window,omitempty"` // how the rank keeps up
	Slow   int    `json:"slow,omitempty"`   // from the sender: the rank that is left out
	Leave  bool   `json:"leave,omitempty"`  // from the sender: that rank leaves, and does not forward
}

const (
	maxReason = 1024     // greatest length of a reason in bytes
	answerLen = 64 << 10 // greatest part of an answer in one account, in bytes
	maxAnswer = 16 << 20 // greatest length of an answer in bytes
)

// publish sends the account to all other ranks, in as many messages as the answer needs.
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

// shorten cuts a reason to maxReason bytes.
func shorten(reason string) string {
	if len(reason) > maxReason {
		return reason[:maxReason]
	}
	return reason
}

// resume tells the remaining ranks where they continue after a loss.
type resume struct {
	From   uint64 `json:"from"`   // number of the next piece
	Length int    `json:"length"` // its length in bytes, with its head; 0: all ranks have all pieces
}

// agree returns where all ranks continue, which the sender decides. Other ranks ignore r.
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
