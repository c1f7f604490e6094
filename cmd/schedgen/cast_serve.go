package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/lobby"
	"github.com/schedgen/schedgen/runtime/tcp"
)

const (
	// regroupTime is how long those are waited for that have not met: who lives comes again at once.
	regroupTime = 5 * time.Second
	// mostMeetings is how often a party tries to meet.
	mostMeetings = 4
)

// castServer serves those that come, in rounds: who comes while a round is under way is served in the next one.
type castServer struct {
	*castCmd
	l        *net.TCPListener
	in       *lobby.Lobby
	key      secret
	guests   *castGuests
	plan     *castPlan
	std      stdio
	way      string // the transport; auto until it is known
	deadline time.Time
	began    time.Time // the first round
	ends     castEnds
	sent     int64
}

// serve sends to those that come at l, first when as many have come as want says. It returns how that has ended, nil if it has not begun.
func (c *castCmd) serve(ctx context.Context, l *net.TCPListener, key secret, guests *castGuests, p *castPlan, std stdio) (*castOutcome, error) {
	in, err := lobby.Open(l, key.lobby())
	if err != nil {
		return nil, err
	}
	s := &castServer{castCmd: c, l: l, in: in, key: key, guests: guests, plan: p, std: std, way: c.Transport, deadline: time.Now().Add(c.Wait)}
	err = s.rounds(ctx, guests.want)
	in.Close(s.closing(err))
	if len(s.ends.list) == 0 {
		return nil, err
	}
	return s.outcome(), err
}

// closing is what those are told that get no place.
func (s *castServer) closing(err error) string {
	switch {
	case err != nil && len(s.ends.list) == 0:
		return err.Error()
	case s.What == "-":
		return "the stream has begun without this host"
	}
	return "the cast is over"
}

// rounds serves parties until nobody waits, and nobody is waited for.
func (s *castServer) rounds(ctx context.Context, want *lobby.Count) (err error) {
	stop := s.until(want, s.Wait)
	for meetings := 1; ; meetings++ {
		party, hosted := s.in.Host(ctx, want, lobby.All(func(all []lobby.Guest) string { return s.choose(ctx, all) }), s.guests.came)
		stop()
		switch {
		case errors.Is(hosted, lobby.ErrNobody) && len(s.ends.list) > 0:
			return err // of the last round
		case hosted != nil:
			return hosted
		}
		s.ends.begin(party.Guests)
		comm, unmet := s.meet(ctx, party)
		if unmet != nil {
			s.ends.fail(party.Guests, unmet)
			if ctx.Err() != nil || meetings == mostMeetings {
				return unmet
			}
			if want, err = lobby.NewCount(len(party.Guests)); err != nil {
				return err
			}
			if errors.As(unmet, new(*lobby.GoneError)) {
				want.Less()
			}
			err, stop = unmet, s.until(want, regroupTime)
			continue
		}
		meetings = 0
		if err = s.send(ctx, comm, party); err != nil && !errors.Is(err, cast.ErrNobody) || s.What == "-" {
			return err
		}
		if want, stop, err = s.next(err); want == nil {
			return err
		}
	}
}

// until has a host wait no longer than d, if that is not 0.
func (s *castServer) until(want *lobby.Count, d time.Duration) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(d, want.Stop)
	return func() { timer.Stop() }
}

// next returns for whom to wait behind a round that has ended with an error, or none: for those that have come meanwhile, and as
// long as --wait says for those that are expected still.
func (s *castServer) next(ended error) (want *lobby.Count, stop func(), err error) {
	if want, err = lobby.NewCount(1); err != nil {
		return nil, nil, err
	}
	left := time.Until(s.deadline)
	if left <= 0 || s.ends.done() >= s.plan.Receivers {
		want.Stop()
	}
	s.guests.later(want, s.ends.names())
	return want, s.until(want, left), ended
}

// choose returns what a party is told: how it is reached.
func (s *castServer) choose(ctx context.Context, all []lobby.Guest) string {
	s.guests.full()
	if s.way == overAuto {
		s.way = overMcast
		if why := s.muted(ctx, all); why != nil {
			s.chain(why)
		}
	}
	return s.way
}

// muted returns why this host or a guest cannot multicast, nil if all can.
func (s *castServer) muted(ctx context.Context, all []lobby.Guest) error {
	where := s.l.Addr().String()
	at, err := s.guests.at()
	switch {
	case err == nil:
		where = at.String()
	case s.Interface == "":
		return err
	}
	if err := s.multicasts(ctx, where, s.key); err != nil {
		return err
	}
	for i := range all {
		if w := wordOf(&all[i]); w.Mute != "" {
			return fmt.Errorf("%s: %s", all[i].Name, w.Mute)
		}
	}
	return nil
}

// chain has all go along the chain, for a reason that is told.
func (s *castServer) chain(why error) {
	s.way = overTCP
	fmt.Fprintf(s.std.Err, "transport: tcp, since %v\n", why)
}

// meet connects this host with a party. If that cannot multicast after all, the next one goes along the chain.
func (s *castServer) meet(ctx context.Context, party *lobby.Party) (*runtime.Comm, error) {
	meeting, stop := party.Meeting(ctx)
	defer stop()
	link := castLink{Transport: s.way, Interface: s.Interface}
	cfg := tcp.Config{Coordinator: s.l.Addr().String(), Listener: s.l, Share: true, Guests: s.in.Welcome}
	if at, err := s.guests.at(); err == nil {
		cfg.Bind = at.Addr().String()
	}
	comm, err := link.join(meeting, &party.Place, s.key, cfg)
	if err == nil {
		return comm, nil
	}
	err = causeOf(ctx, err)
	if gone := errors.As(err, new(*lobby.GoneError)); !gone && s.Transport == overAuto && s.way == overMcast {
		s.chain(err)
	} else if ctx.Err() == nil {
		fmt.Fprintf(s.std.Err, "once more: %v\n", err)
	}
	return nil, err
}

// send serves a party.
func (s *castServer) send(ctx context.Context, comm *runtime.Comm, party *lobby.Party) error {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	bar := newCastProgress(s.std, s.plan.bytes(), "send by "+wayOf(s.way))
	report, err := cast.Send(ctx, comm, s.source(ctx, s.std), cast.SendOptions{Limit: float64(s.Limit), Strict: s.Strict, Progress: bar.show})
	bar.clear()
	s.sent += report.Bytes
	s.ends.end(party.Guests, report.Outcomes)
	return err
}

func (s *castServer) outcome() *castOutcome {
	took := time.Duration(0)
	if !s.began.IsZero() {
		took = time.Since(s.began)
	}
	return newCastOutcome(s.plan, s.way, took, s.sent, s.ends.receivers())
}
