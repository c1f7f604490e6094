//go:build linux

package kills

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/runtime/shm"
)

// outcome is the outcome of a run.
type outcome struct {
	killed    []int // killed or stopped ranks, ascending
	at        time.Time
	survivors []survivor
	back      []survivor // reports of stopped ranks after they have continued
}

// survivor is the report of a rank that has survived others, as a line of JSON.
type survivor struct {
	Rank int
	At   int64  // when its call failed, in ns since 1970
	Lost []int  // ranks that it names
	Self bool   // it reports that it was lost itself
	Err  string // error of the call

	Answers string // for each open question, the ranks that have answered as far as it knows
	Few     bool   // it could not continue because too few are left
	After   string // why it could not continue without them; "": it could

	silent bool // the rank has sent no report
}

// member is the process of a rank.
type member struct {
	cmd    *exec.Cmd
	in     io.Closer
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// waitForEnd waits for the processes of ranks that were killed or have sent all reports.
func waitForEnd(members []*member) {
	for _, m := range members {
		_ = m.in.Close()
		_ = m.cmd.Wait()
	}
}

// runKills starts the ranks, kills some, and collects the reports of the others.
func runKills(ctx context.Context, v *Verb, transport, work string, random *rand.Rand) (*outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, v, transport, work)
	defer func() {
		cancel()
		waitForEnd(members)
	}()
	if err != nil {
		return nil, err
	}
	r := &outcome{killed: random.Perm(v.Ranks)[:v.AtOnce]}
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
	r.at = time.Now()
	for _, rank := range r.killed {
		if err := members[rank].cmd.Process.Signal(v.signal()); err != nil {
			return nil, fmt.Errorf("end rank %d: %w", rank, err)
		}
	}
	slices.Sort(r.killed)
	late := time.AfterFunc(v.Limit, cancel) // ends all that hang
	defer late.Stop()
	for rank, m := range members {
		if slices.Contains(r.killed, rank) {
			continue
		}
		t, err := m.readReport(rank)
		if err != nil {
			return nil, err
		}
		r.survivors = append(r.survivors, t)
	}
	if !v.Stop {
		return r, ctx.Err()
	}
	for _, rank := range r.killed {
		if err := members[rank].cmd.Process.Signal(syscall.SIGCONT); err != nil {
			return nil, fmt.Errorf("let rank %d go on: %w", rank, err)
		}
	}
	for _, rank := range r.killed {
		t, err := members[rank].readReport(rank)
		if err != nil {
			return nil, err
		}
		r.back = append(r.back, t)
	}
	return r, ctx.Err()
}

// signal returns the signal that the victims get.
func (v *Verb) signal() syscall.Signal {
	if v.Stop {
		return syscall.SIGSTOP
	}
	return syscall.SIGKILL
}

// readReport returns the report of the rank at its end.
func (m *member) readReport(rank int) (t survivor, err error) {
	t.Rank = rank
	if !m.lines.Scan() {
		t.silent = true
		return t, nil
	}
	if err := json.Unmarshal(m.lines.Bytes(), &t); err != nil {
		return t, fmt.Errorf("rank %d says %q: %w", rank, m.lines.Text(), err)
	}
	return t, nil
}

// start starts all ranks and returns when all work.
func start(ctx context.Context, v *Verb, transport, work string) (members []*member, err error) {
	job, files, err := prepare(v, transport)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		defer f.Close()
	}
	job.Work, job.Patience, job.Quorum = work, v.Limit, v.Quorum
	if v.Stop || v.Cut {
		job.Silence = v.Silence
	}
	for job.Rank = range v.Ranks {
		m := new(member)
		if m.cmd, err = program.Self(ctx, rankVerb); err != nil {
			return members, err
		}
		m.cmd.Stderr = &m.stderr
		if transport == "shm" || job.Rank == 0 {
			m.cmd.ExtraFiles = files
		}
		if v.Cut {
			m.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		}
		in, err1 := m.cmd.StdinPipe()
		out, err2 := m.cmd.StdoutPipe()
		if err := errors.Join(err1, err2, m.cmd.Start()); err != nil {
			return members, fmt.Errorf("start rank %d: %w", job.Rank, err)
		}
		m.in, m.lines = in, bufio.NewScanner(out)
		m.lines.Buffer(nil, 1<<20)
		members = append(members, m)
		if v.Cut {
			if err := makeHost(job.Rank, v.Ranks, m.cmd.Process.Pid); err != nil {
				return members, err
			}
		}
		if err := json.NewEncoder(in).Encode(job); err != nil {
			return members, fmt.Errorf("tell rank %d: %w", job.Rank, err)
		}
	}
	for rank, m := range members {
		if !m.lines.Scan() || m.lines.Text() != ready {
			return members, fmt.Errorf("rank %d has not joined: %w", rank, unjoined(members))
		}
	}
	return members, nil
}

// unjoined ends the members after one has failed to join, and returns the errors of all. The error
// of the rank that failed first often says only that another rank has gone.
func unjoined(members []*member) error {
	var said []error
	for rank, m := range members {
		_ = m.cmd.Process.Kill() // it may have ended
		err := m.cmd.Wait()
		said = append(said, fmt.Errorf("rank %d: %s%s (%v)", rank, m.lines.Text(), m.stderr.String(), err))
	}
	return errors.Join(said...)
}

// prepare makes the meeting point of the ranks: a shared segment, a listener for rank 0, or an
// address on its host.
func prepare(v *Verb, transport string) (j job, files []*os.File, err error) {
	j = job{Transport: transport, Size: v.Ranks, Hosts: v.Cut}
	if v.Cut {
		j.Coordinator = coordinatorOfHosts
		return j, nil, nil
	}
	if transport == "shm" {
		f, err := shm.Create(v.Ranks)
		return j, []*os.File{f}, err
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return j, nil, err
	}
	defer l.Close()
	j.Coordinator = l.Addr().String()
	f, err := l.File()
	return j, []*os.File{f}, err
}
