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
	Behind bool   `json:"behind,omitempty"` // it is to be served behind the others

	Window *stint `json:"window,omitempty"` // how it keeps up
	Slow   int    `json:"slow,omitempty"`   // of the sender: the rank that is left out
	Leave  bool   `json:"leave,omitempty"`  // and it is to go, not to pass on
}

// maxReason is the longest reason that is told, in bytes.
const maxReason = 1024

// gather has all ranks tell each other their accounts, in turn, and calls tell with each as it comes.
//
// Only the sender needs most of them. But what is proved brings what a rank has to all: neither a broadcast nor a rootless message
// goes to one rank alone.
func gather(ctx context.Context, comm *runtime.Comm, mine *account, tell func(*account)) error {
	text, err := json.Marshal(mine)
	if err != nil {
		return fmt.Errorf("tell the others: %w", err)
	}
	for rank := range comm.Size() {
		var buf []byte
		if rank == comm.Rank() {
			buf = text
		}
		got, err := comm.BcastBytes(ctx, buf, rank)
		if err != nil {
			return err
		}
		a := new(account)
		if err := json.Unmarshal(got, a); err != nil {
			return fmt.Errorf("the account of rank %d: %w", rank, err)
		}
		if a.Sender != (rank == 0) {
			return fmt.Errorf("the account of rank %d: %w", rank, errSender)
		}
		tell(a)
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
