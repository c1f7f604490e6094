//go:build linux

// Package ranks runs the ranks of a job as processes of this program, on this host or on hosts that
// are network namespaces. A rank reads lines of JSON and prints lines.
package ranks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/test/netns"
	"github.com/schedgen/schedgen/runtime/shm"
)

// Member is the process of a rank.
type Member struct {
	Lines *bufio.Scanner // what it prints

	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer
}

// maxLine bounds a line that a rank prints, in bytes.
const maxLine = 1 << 20

// Start starts a hidden verb as the process of a rank, on a host of the network, or on this host if
// the network is nil. The process is killed when ctx ends.
func Start(ctx context.Context, verb string, on *Network, host int) (*Member, error) {
	m := new(Member)
	var err error
	if m.cmd, err = program.Self(ctx, verb); err != nil {
		return nil, err
	}
	m.cmd.Stderr = &m.stderr
	// Its own process group: an interrupt from the terminal reaches it through ctx.
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var out io.Reader
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if out, err = m.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := on.at(host, m.cmd.Start); err != nil {
		return nil, fmt.Errorf("start a rank: %w", err)
	}
	m.Lines = bufio.NewScanner(out)
	m.Lines.Buffer(nil, maxLine)
	return m, nil
}

// Tell sends a line of JSON.
func (m *Member) Tell(line any) error { return json.NewEncoder(m.in).Encode(line) }

// Hear reads a line of JSON. It returns false if there is none, because the process has ended. A
// process that prints something else is killed.
func (m *Member) Hear(line any) bool {
	if !m.Lines.Scan() {
		return false
	}
	if json.Unmarshal(m.Lines.Bytes(), line) == nil {
		return true
	}
	_ = m.cmd.Process.Kill() // it may have ended
	return false
}

// Signal sends a signal to the process.
func (m *Member) Signal(sig os.Signal) error { return m.cmd.Process.Signal(sig) }

// End ends the input of the process, and returns when it has ended, with its error.
func (m *Member) End() error {
	_ = m.in.Close() // it may have ended
	return m.cmd.Wait()
}

// Said returns what the process, which has ended, has printed to the standard error.
func (m *Member) Said() string { return m.stderr.String() }

// End ends the input of all processes and waits for them. Processes that were killed are no error.
func End(members []*Member) {
	for _, m := range members {
		_ = m.in.Close()
	}
	for _, m := range members {
		_ = m.End()
	}
}

// Meet has processes join as the ranks of a job, in their order. all holds what their seats have in
// common, and seats completes the seat of a rank. line returns what a rank is told. Meet returns when
// all have printed [Ready].
func Meet(members []*Member, all Seat, seats func(*Seat), line func(Seat) any) error {
	all.Size = len(members)
	if all.Transport == "shm" {
		f, err := shm.Create(all.Size)
		if err != nil {
			return err
		}
		defer f.Close() // all have it by then
		all.Segment = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
	}
	for rank, m := range members {
		s := all
		s.Rank = rank
		seats(&s)
		if err := m.Tell(line(s)); err != nil {
			return fmt.Errorf("tell rank %d: %w", rank, unjoined(members))
		}
		if rank > 0 || all.Segment != "" {
			continue
		}
		if !m.Lines.Scan() {
			return fmt.Errorf("rank 0 waits for no others: %w", unjoined(members))
		}
		all.Coordinator = m.Lines.Text()
	}
	for rank, m := range members {
		if !m.Lines.Scan() || m.Lines.Text() != Ready {
			return fmt.Errorf("rank %d has not joined: %w", rank, unjoined(members))
		}
	}
	return nil
}

// unjoined ends the members after one has failed to join, and returns the errors of all. The error
// of the rank that failed first often says only that another rank has gone.
func unjoined(members []*Member) error {
	var said []error
	for rank, m := range members {
		_ = m.cmd.Process.Kill() // it may have ended
		err := m.cmd.Wait()
		said = append(said, fmt.Errorf("rank %d: %s%s (%v)", rank, m.Lines.Text(), m.stderr.String(), err))
	}
	return errors.Join(said...)
}

// Loopback is the address of ranks that are all on this host.
const Loopback = "127.0.0.1"

// Address returns the address of a host of a network.
func Address(host int) string { return netns.Address(host) }
