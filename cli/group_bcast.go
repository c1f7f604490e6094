package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/membership"
)

// groupBcastCmd is the verb group bcast.
type groupBcastCmd struct {
	Iterations *int     `placeholder:"N" help:"Leave after N broadcasts; default: continue until interrupted."`
	Size       byteSize `default:"64KiB" placeholder:"N" help:"Bytes of a broadcast of this member; default 64KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	groupFlags
}

// Help is the long help text.
func (groupBcastCmd) Help() string {
	return `Joins a group whose oldest member broadcasts to the others, again and again, with a barrier after
each broadcast. A new member takes part from the next broadcast on. When a member leaves or dies,
the others repeat the broadcast that this broke off. When the oldest member leaves or dies, the
next oldest continues. Each member checks that it misses no broadcast and that every byte is
right; otherwise the exit code is 1.

` + groupHelp() + `Example, in several terminals or on several hosts:

  schedgen group bcast tables --size 16MiB \
    --manager embedded://10.77.0.1:7100,10.77.0.2:7100`
}

// numberBytes is the length of the number at the beginning of each broadcast.
const numberBytes = 8

// Run joins and broadcasts.
func (c *groupBcastCmd) Run(ctx context.Context, std terminal.Stdio) (err error) {
	switch {
	case c.Iterations != nil && *c.Iterations < 1:
		return fmt.Errorf("--iterations=%d: must be at least 1", *c.Iterations)
	case c.Size < numberBytes || c.Size > maxPublished:
		return fmt.Errorf("--size=%v: must be %v to %v", c.Size, byteSize(numberBytes), byteSize(maxPublished))
	}
	m, err := c.join(ctx, "bcast", std)
	if err != nil {
		return err
	}
	s := &series{member: m, size: int(c.Size), text: newGroupText(), times: crew.NewTimes()}
	if err = m.gather(ctx); err == nil {
		err = s.takePart(ctx, c.Iterations)
	}
	return m.finish(ctx, err, func() summary { return s.summary() })
}

// series is the series of broadcasts that a member takes part in.
type series struct {
	member *member
	size   int
	text   *groupText
	have   uint64 // number of the last broadcast received; 0: none
	sure   bool   // all members have the broadcast with number have
	torn   bool   // a broadcast was broken off since the last one that all members have
	done   int    // broadcasts that all members have
	cut    int    // broadcasts broken off by a change of the membership
	led    int    // broadcasts of done whose root was this member
	times  *hdrhistogram.Histogram
	wrong  crew.Findings
}

// takePart takes part in the given number of broadcasts, or without end if iterations is nil.
func (s *series) takePart(ctx context.Context, iterations *int) error {
	for iterations == nil || s.done < *iterations {
		comm, err := s.member.group.Advance(ctx)
		if err != nil {
			return err
		}
		err = s.once(ctx, comm)
		switch {
		case err == nil:
			s.done++
		case ctx.Err() != nil || s.member.group.Err() != nil || hopeless(err):
			return err
		default:
			s.cut++
			s.torn = true
		}
	}
	return nil
}

// hopeless reports whether other members would fail with the same error.
func hopeless(err error) bool {
	return errors.Is(err, runtime.ErrMismatch) || errors.Is(err, runtime.ErrProtocol) || errors.Is(err, runtime.ErrInput)
}

// once takes part in one broadcast. If it returns nil, all members have the broadcast.
func (s *series) once(ctx context.Context, comm *runtime.Comm) error {
	var own []byte
	root := comm.Rank() == 0
	if root {
		if err := s.member.rest(ctx); err != nil {
			return err
		}
		own = s.make(s.due(), s.size)
	}
	began := time.Now()
	got, err := comm.BcastBytes(ctx, own, 0)
	if err != nil {
		return err
	}
	s.check(got)
	if err := comm.Barrier(ctx); err != nil {
		return err
	}
	s.sure, s.torn = true, false
	if root {
		crew.Record(s.times, int64(time.Since(began)))
		s.led++
	}
	if s.member.flags.Verbose {
		s.member.print(&bcastLine{s.have, comm.Size(), len(got)})
	}
	return nil
}

// due returns the number of this member's next broadcast: the last number again, unless all members
// are known to have it.
func (s *series) due() uint64 {
	if s.sure || s.have == 0 {
		return s.have + 1
	}
	return s.have
}

// make returns the broadcast of a number.
func (s *series) make(number uint64, size int) []byte {
	text := s.text.make(membership.ID{}, number, size)
	binary.LittleEndian.PutUint64(text, number)
	return text
}

// check checks a broadcast. Its number must follow the last number, or may repeat it after a
// broadcast was broken off. No number is skipped: a rank returns from the barrier after a broadcast
// only if all members have the broadcast.
func (s *series) check(got []byte) {
	if len(got) < numberBytes {
		s.wrong.Add(fmt.Sprintf("a broadcast of %d bytes", len(got)))
		return
	}
	number := binary.LittleEndian.Uint64(got)
	switch {
	case s.have > 0 && number != s.have+1 && !(s.torn && number == s.have):
		s.wrong.Add(fmt.Sprintf("broadcast %d after %d", number, s.have))
	case !bytes.Equal(got, s.make(number, len(got))):
		s.wrong.Add(fmt.Sprintf("broadcast %d is not what was sent", number))
	}
	s.have, s.sure = number, false
}
