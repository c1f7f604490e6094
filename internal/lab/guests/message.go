//go:build linux

package guests

import (
	"encoding/gob"
	"io"
	"sync"
)

// Kinds of messages between this program on the host and in a guest.
const (
	ready  = "ready"  // guest: set up
	start  = "start"  // host: run Args with Env added
	stdout = "stdout" // guest: the command has printed Data
	stderr = "stderr"
	file   = "file"   // guest: the next piece of file Name, which the command left
	exited = "exited" // guest: the command has ended with Code; the last message
	failed = "failed" // guest: something other than the command failed, as Data says; the last message
)

// message is a message from one side to the other. Both sides are the same program.
type message struct {
	Kind      string
	Args, Env []string
	Name      string
	Data      []byte
	Code      int
}

// sender sends messages for several goroutines.
type sender struct {
	mu sync.Mutex
	to *gob.Encoder
}

func newSender(w io.Writer) *sender { return &sender{to: gob.NewEncoder(w)} }

func (t *sender) send(m message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.to.Encode(m)
}

// stream is a command's output on its way to the host.
type stream struct {
	to   *sender
	kind string
}

func (s stream) Write(data []byte) (int, error) {
	if err := s.to.send(message{Kind: s.kind, Data: data}); err != nil {
		return 0, err
	}
	return len(data), nil
}
