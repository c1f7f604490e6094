package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/membership"
)

// groupBcastCmd is the verb group bcast.
type groupBcastCmd struct {
	Iterations *int     `placeholder:"N" help:"Take part in N broadcasts and take leave; without it all goes on until it is interrupted."`
	Size       byteSize `default:"64KiB" placeholder:"N" help:"Bytes that this member broadcasts, default 64KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	Interface  string   `placeholder:"NAME" complete:"interface" help:"Network interface of multicasts, default none."`
	groupFlags
}

// Help is the long help text.
func (groupBcastCmd) Help() string {
	return `Joins a group whose oldest member broadcasts to the others, again and again, with a barrier after
each broadcast. Who comes takes part from the next one on. When a member leaves or dies the others
make the broadcast that it has broken off again; when the oldest has, the next oldest goes on. No
broadcast may be left out or differ in a byte, at any member; else the exit code is 1.

` + groupHelp() + `Example, in several terminals or on several hosts:

  schedgen group bcast tables --size 16MiB \
    --manager embedded://10.77.0.1:7100,10.77.0.2:7100`
}

// numberBytes is the number of a broadcast, in front of it.
const numberBytes = 8

// Run joins and broadcasts.
func (c *groupBcastCmd) Run(ctx context.Context, std stdio) (err error) {
	switch {
	case c.Iterations != nil && *c.Iterations < 1:
		return fmt.Errorf("--iterations=%d: must be at least 1", *c.Iterations)
	case c.Size < numberBytes || c.Size > maxCast:
		return fmt.Errorf("--size=%v: must be %v to %v", c.Size, byteSize(numberBytes), byteSize(maxCast))
	case c.Interface != "" && c.Transport == overTCP:
		return errors.New("--interface: tcp multicasts on none")
	}
	if c.Interface != "" {
		if c.Interface, err = interfaceName(c.Interface); err != nil {
			return err
		}
	}
	m, err := c.join(ctx, "bcast", link{Interface: c.Interface}, std)
	if err != nil {
		return err
	}
	s := &series{member: m, size: int(c.Size), text: newGroupText(), times: newTimes()}
	if err = m.gather(ctx); err == nil {
		err = s.run(ctx, c.Iterations)
	}
	return m.finish(ctx, err, func() summary { return s.summary() })
}

// series is the broadcasts that a member takes part in.
type series struct {
	member *member
	size   int
	text   *groupText
	have   uint64 // the number of the last broadcast that has come; 0: none has
	sure   bool   // and all members have it
	torn   bool   // since the last one that all had, something was broken off
	done   int
	cut    int // broken off by a change of the membership, or made anew
	led    int // of those done, how many this member was the root of
	times  *hdrhistogram.Histogram
	wrong  findings
}

// run takes part in so many broadcasts, nil for any number.
func (s *series) run(ctx context.Context, iterations *int) error {
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

// once makes one broadcast. When it returns nil, all members have it.
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
		record(s.times, int64(time.Since(began)))
		s.led++
	}
	if s.member.flags.Verbose {
		s.member.print(&bcastLine{s.have, comm.Size(), len(got)})
	}
	return nil
}

// due is the number that this member broadcasts. One that not all may have is broadcast again.
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

// check checks a broadcast. What a barrier followed anywhere has come everywhere: so it is the next
// one, or the last again after something was broken off.
func (s *series) check(got []byte) {
	if len(got) < numberBytes {
		s.wrong.add(fmt.Sprintf("a broadcast of %d bytes", len(got)))
		return
	}
	number := binary.LittleEndian.Uint64(got)
	switch {
	case s.have > 0 && number != s.have+1 && !(s.torn && number == s.have):
		s.wrong.add(fmt.Sprintf("broadcast %d after %d", number, s.have))
	case !bytes.Equal(got, s.make(number, len(got))):
		s.wrong.add(fmt.Sprintf("broadcast %d is not what was sent", number))
	}
	s.have, s.sure = number, false
}
