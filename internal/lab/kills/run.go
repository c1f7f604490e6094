//go:build linux

package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
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

// runKills starts the ranks, kills some, and collects the reports of the others.
func runKills(ctx context.Context, v *Verb, transport, work string, random *rand.Rand) (*outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := start(ctx, v, nil, transport, work)
	defer func() {
		cancel()
		ranks.End(members)
	}()
	if err != nil {
		return nil, err
	}
	r := &outcome{killed: random.Perm(v.Ranks)[:v.AtOnce]}
	time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // a random moment
	r.at = time.Now()
	for _, rank := range r.killed {
		if err := members[rank].Signal(v.signal()); err != nil {
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
		t, err := readReport(m, rank)
		if err != nil {
			return nil, err
		}
		r.survivors = append(r.survivors, t)
	}
	if !v.Stop {
		return r, ctx.Err()
	}
	for _, rank := range r.killed {
		if err := members[rank].Signal(syscall.SIGCONT); err != nil {
			return nil, fmt.Errorf("let rank %d go on: %w", rank, err)
		}
	}
	for _, rank := range r.killed {
		t, err := readReport(members[rank], rank)
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
func readReport(m *ranks.Member, rank int) (t survivor, err error) {
	t.Rank = rank
	if !m.Lines.Scan() {
		t.silent = true
		return t, nil
	}
	if err := json.Unmarshal(m.Lines.Bytes(), &t); err != nil {
		return t, fmt.Errorf("rank %d says %q: %w", rank, m.Lines.Text(), err)
	}
	return t, nil
}

// start starts all ranks and returns when all work.
func start(ctx context.Context, v *Verb, on *ranks.Network, transport, work string) (members []*ranks.Member, err error) {
	for rank := range v.Ranks {
		m, err := ranks.Start(ctx, rankVerb, on, rank)
		if err != nil {
			return members, err
		}
		members = append(members, m)
	}
	j := job{Work: work, Patience: v.Limit, Quorum: v.Quorum}
	if v.Stop || v.Cut {
		j.Silence = v.Silence
	}
	seats := func(s *ranks.Seat) {
		s.Host, s.Address = fmt.Sprint("host ", s.Rank*3/s.Size), ranks.Loopback
		if v.Cut {
			s.Address, s.Interface = ranks.Address(s.Rank), ranks.Interface
		}
	}
	return members, ranks.Meet(members, ranks.Seat{Transport: transport}, seats, func(s ranks.Seat) any {
		j.Seat = s
		return j
	})
}
