package crew

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/outfile"
)

// message is the trial of a broadcast: the root loads the message, and the others compare the
// SHA-256 of their copies.
type message struct {
	job *Job
	buf []byte
}

// newMessage returns the trial of a broadcast into buf. It loads the message at the root.
func newMessage(j *Job, buf []byte, in *Input) (*message, error) {
	if j.Rank == j.Params.Root {
		if err := in.load(buf, j.Sum); err != nil {
			return nil, err
		}
	}
	return &message{j, buf}, nil
}

func (m *message) prepare(iteration int) {
	if m.job.Rank != m.job.Params.Root {
		spoil(m.buf, iteration)
	}
}

// spoil fills buf with a byte that depends on the iteration, so that missing bytes are noticed,
// even if the message consists of one byte repeated.
func spoil(buf []byte, iteration int) {
	if len(buf) == 0 {
		return
	}
	buf[0] = 0xa5 + byte(iteration)
	for n := 1; n < len(buf); n *= 2 {
		copy(buf[n:], buf[:n])
	}
}

func (m *message) check(wrong *Findings, iteration int) {
	if got := hexSum(m.buf); got != m.job.Sum {
		wrong.Add(fmt.Sprintf("iteration %d: SHA-256 is %s, not that of the message, %s", iteration+1, got, m.job.Sum))
	}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// end writes the copy of this rank to the file of --output.
func (m *message) end(context.Context, *Findings) error {
	if m.job.Output == "" {
		return nil
	}
	err := outfile.Write(m.job.Output, func(w io.Writer) error {
		_, err := w.Write(m.buf)
		return err
	})
	if err != nil {
		return InputError{fmt.Errorf("--output: %w", err)}
	}
	return nil
}
