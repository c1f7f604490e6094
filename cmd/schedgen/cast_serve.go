package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/cast/pack"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/lobby"
	"github.com/schedgen/schedgen/runtime/tcp"
)

const (
	// regroupTime is how long those are waited for that have not met: who lives comes again at once.
	regroupTime = 5 * time.Second
	// restTime is how long those are waited for that come again behind a round: the disk of one that is slow may have to end a write.
	restTime = 30 * time.Second
	// mostMeetings is how often a party tries to meet.
	mostMeetings = 4
	// leastQuiet is how long the others wait at least for a host that gives no sign of life, and mostQuiet how long at most. Until --silence is over it may come
	// again, and gets the rest behind them. A sign of life may stand behind quietBytes of what is sent; on links of less than quietRate bytes a second behind more.
	leastQuiet = 500 * time.Millisecond
	mostQuiet  = 3 * time.Second
	quietBytes = 3e6
	quietRate  = 1e6
	// mcastRate is how many bytes a second networks must take at least to be multicast to, where the sender may choose: on slower ones some of what stands in
	// queues is taken for lost, and the chain takes less.
	mcastRate = 100e3
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
	used     string // that of the first round that was sent
	deadline time.Time
	began    time.Time // the first round
	ends     castEnds
	lacks    castLacks
	rates    castRates
	served   atomic.Int64 // receivers that have all
	waiting  int          // receivers that wait for a later round than the one that was chosen last
	sent     int64
	stream   string // names what those get who lack all, the same in each round
	reached  int64  // bytes of that which were sent
	origin   *pack.Origin
	streamed cast.Digest // of a stream that was sent
}

// castRound is a party, and what it gets.
type castRound struct {
	*lobby.Party
	castNote
	lacked *block.Set // nil: all
	rate   float64    // bytes a second that the network of the receiver in the middle takes; 0: not known
}

// serve sends to those that come at l, first when as many have come as want says. It returns how that has ended, nil if it has not begun.
func (c *castCmd) serve(ctx context.Context, l *net.TCPListener, key secret, guests *castGuests, p *castPlan, std stdio) (*castOutcome, error) {
	in, err := lobby.Open(l, key.lobby())
	if err != nil {
		return nil, err
	}
	s := &castServer{castCmd: c, l: l, in: in, key: key, guests: guests, plan: p, std: std, way: c.Transport, deadline: time.Now().Add(c.Wait), stream: rand.Text(), origin: pack.At(c.What)}
	err = s.rounds(ctx, guests.want)
	waiting := in.Close(s.closing(err))
	if len(s.ends.list) == 0 {
		return nil, err
	}
	if err != nil && s.What != "-" { // they would have been served behind
		s.ends.unserved(waiting, err)
	}
	return s.outcome(), err
}

// closing is what those are told that get no place.
func (s *castServer) closing(err error) string {
	switch {
	case len(s.ends.list) > 0 && s.What == "-":
		return "the stream has begun without this host"
	case err != nil:
		return err.Error()
	}
	return "the cast is over"
}

// source is what is sent to those that lack some blocks, nil for all.
func (s *castServer) source(ctx context.Context, lacked *block.Set) cast.Source {
	if s.What == "-" {
		return cast.Stream(&patientReader{ctx: ctx, r: s.std.In}, &s.streamed)
	}
	return cast.Tree(s.origin, lacked)
}

// digest returns what identifies all that is sent, or ok = false as long as not all of it has been read.
func (s *castServer) digest() (d cast.Digest, ok bool) {
	if s.What == "-" {
		return s.streamed, s.streamed != cast.Digest{}
	}
	d, _, ok = s.origin.Digest()
	return d, ok
}

// confirm takes a receiver for one that has all only if the digest of what it has, which it tells in the
// end, is that of what was sent in the first round.
func (s *castServer) confirm(outcomes []cast.Outcome) {
	want, whole := s.digest()
	for i := range outcomes {
		o := &outcomes[i]
		if o.Done && (!whole || !bytes.Equal(o.Answer, want[:])) {
			o.Done, o.Reason = false, fmt.Sprintf("it has something else: its digest is %x, that of what was sent %x", o.Answer, want)
		}
	}
}

// rounds serves parties until nobody waits, and nobody is waited for.
func (s *castServer) rounds(ctx context.Context, want *lobby.Count) (err error) {
	stop := s.until(want, s.Wait)
	for meetings := 1; ; meetings++ {
		round, hosted := s.host(ctx, want)
		stop()
		switch {
		case errors.Is(hosted, lobby.ErrNobody) && len(s.ends.list) > 0:
			return err // of the last round
		case hosted != nil:
			return hosted
		}
		s.ends.begin(round.Guests)
		comm, unmet := s.meet(ctx, round)
		if unmet != nil {
			s.ends.fail(round.Guests, unmet)
			if ctx.Err() != nil || meetings == mostMeetings {
				return unmet
			}
			gone := 0
			if errors.As(unmet, new(*lobby.GoneError)) {
				gone = 1
			}
			err = unmet
			want, stop = s.back(len(round.Guests)-gone+s.waiting, regroupTime)
			continue
		}
		meetings = 0
		var again, silent int
		if again, silent, err = s.send(ctx, comm, round); err != nil && !errors.Is(err, cast.ErrNobody) || s.What == "-" {
			return err
		}
		switch rest := s.Silence - round.Silence; {
		case again > 0:
			want, stop = s.back(again+s.waiting, restTime)
		case silent > 0 && rest > max(0, time.Until(s.deadline)):
			fmt.Fprintf(s.std.Err, "who gave no sign of life has %v to come again\n", rest)
			want, stop = s.back(silent+s.waiting, rest)
		default:
			want, stop = s.next()
		}
		s.guests.later(want, s.ends.names())
		goruntime.GC() // what this round has held is given back before the next one holds as much
	}
}

// host waits for a party and decides what it gets: first a survey, if it resumes, and then what it lacks.
func (s *castServer) host(ctx context.Context, want *lobby.Count) (*castRound, error) {
	r := new(castRound)
	choose := func(all []lobby.Guest) ([]int, string) {
		var chosen []int
		if s.Resume {
			chosen = s.lacks.unknown(all)
		}
		if r.Survey = len(chosen) > 0; !r.Survey {
			chosen, r.lacked = s.lacks.group(all)
			if s.behind() {
				chosen = s.rates.leaveOut(all, chosen, s.left(r.lacked, s.from(all, chosen, r.lacked)), float64(s.Limit), s.std.Err)
			}
			if r.From = s.from(all, chosen, r.lacked); r.lacked == nil {
				r.Stream = s.stream
			}
		}
		if s.probe(len(all)) >= sureProbe {
			r.rate = middleRate(all, chosen, 0)
		}
		s.waiting = len(all) - len(chosen)
		arrange(all, chosen, s.guests.order)
		r.Transport, r.Silence = s.wayTo(ctx, all, chosen, r.rate), cmp.Or(s.quiet(r.rate, s.returns(all, chosen)), -1)
		return chosen, r.spell()
	}
	stop := waitingFor(s.guests.say, s.waits)
	party, err := s.in.Host(ctx, lobby.Reception{Want: want, Probe: s.probe, Choose: choose, Came: s.guests.came})
	stop()
	r.Party = party
	return r, err
}

// waits says for whom the sender waits.
func (s *castServer) waits() string {
	all, refused := s.in.Here()
	words := s.guests.words(namesOf(all))
	if done := s.served.Load(); done > 0 {
		words = fmt.Sprintf("%d of %d have all; others may still come", done, max(int64(s.plan.Receivers), done))
	}
	if refused != nil {
		words = fmt.Sprintf("%s; a connection was refused: %v", words, refused)
	}
	return words
}

// from returns where in the stream those of all that are chosen begin, who lack some blocks, nil for all: behind what all of them have got of it.
func (s *castServer) from(all []lobby.Guest, chosen []int, lacked *block.Set) int64 {
	if lacked != nil {
		return 0 // it is a stream of its own
	}
	least := s.reached
	for _, i := range chosen {
		w := wordOf(&all[i])
		if w.Stream != s.stream {
			return 0
		}
		least = min(least, max(w.Have, 0))
	}
	return least
}

// returns reports whether one of all that are chosen gave no sign of life in its last round.
func (s *castServer) returns(all []lobby.Guest, chosen []int) bool {
	return slices.ContainsFunc(chosen, func(i int) bool { return s.ends.last(&all[i]).Silent })
}

// quiet returns how long those of a round, whose networks take so many bytes a second, wait for one that gives no sign of life; 0: for ever. One of them may have
// been silent before, and has lived.
func (s *castServer) quiet(rate float64, before bool) time.Duration {
	switch {
	case !s.behind(), rate < quietRate:
		return s.Silence
	case before:
		return min(s.Silence, mostQuiet)
	}
	behind := time.Duration(quietBytes / rate * float64(time.Second))
	return min(s.Silence, max(leastQuiet, min(behind, mostQuiet)))
}

// back returns a count of so many that are to come again within d.
func (s *castServer) back(n int, d time.Duration) (want *lobby.Count, stop func()) {
	want = lobby.NewCount(max(n, 0))
	return want, s.until(want, d)
}

// until has a host wait no longer than d, if that is not 0.
func (s *castServer) until(want *lobby.Count, d time.Duration) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(d, want.Stop)
	return func() { timer.Stop() }
}

// next returns for whom to wait behind a round: for those that have come meanwhile, and as
// long as --wait says for those that are expected still.
func (s *castServer) next() (want *lobby.Count, stop func()) {
	want = lobby.NewCount(1)
	left := time.Until(s.deadline)
	if left <= 0 || s.ends.done() >= s.plan.Receivers {
		want.Stop()
	}
	return want, s.until(want, left)
}

// wayTo returns how those of all that are chosen are reached. One alone needs no multicast, and one to which the network is slow would lose most of it.
// The network of the one in the middle takes so many bytes a second, 0 if that is not known.
func (s *castServer) wayTo(ctx context.Context, all []lobby.Guest, chosen []int, rate float64) string {
	s.guests.full()
	if s.Transport == overAuto && (len(chosen) == 1 || slices.ContainsFunc(chosen, func(i int) bool { return s.ends.last(&all[i]).Behind || s.rates.knows(&all[i]) })) {
		return overTCP
	}
	if s.way == overAuto {
		s.way = overMcast
		if rate > 0 && rate < mcastRate {
			s.chain(fmt.Errorf("the networks of the receivers take no more than %s/s", about(rate)))
		} else if why := s.muted(ctx, all); why != nil {
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
func (s *castServer) meet(ctx context.Context, round *castRound) (*runtime.Comm, error) {
	meeting, stop := round.Meeting(ctx)
	defer stop()
	cfg := tcp.Config{Coordinator: s.l.Addr().String(), Listener: s.l, Share: true, Guests: s.in.Welcome}
	if at, err := s.guests.at(); err == nil {
		cfg.Bind = at.Addr().String()
	}
	comm, err := s.join(meeting, round.castNote, &round.Place, s.key, cfg)
	if err == nil {
		return comm, nil
	}
	err = causeOf(ctx, err)
	if gone := errors.As(err, new(*lobby.GoneError)); !gone && s.Transport == overAuto && round.Transport == overMcast {
		s.chain(err)
	} else if ctx.Err() == nil {
		fmt.Fprintf(s.std.Err, "once more: %v\n", err)
	}
	return nil, err
}

// send serves a party, and returns how many of it come again, and how many may that have given no sign of life.
func (s *castServer) send(ctx context.Context, comm *runtime.Comm, round *castRound) (again, silent int, err error) {
	if s.began.IsZero() {
		s.began, s.used = time.Now(), round.Transport
	}
	o := cast.SendOptions{Limit: float64(s.Limit), Strict: s.Strict, Behind: s.behind(), Chain: round.Transport == overTCP, Rate: round.rate}
	source, total, doing := cast.Tail(s.source(ctx, round.lacked), round.From), s.left(round.lacked, round.From), "send"
	if round.Survey {
		source, total, doing = cast.Survey(s.origin, nil), -1, "compare"
	}
	bar := newCastProgress(s.std, total, doing+" by "+wayOf(round.Transport), namesOf(round.Guests))
	o.Progress = saveMemory(s.std.Getenv, bar.show)
	report, err := cast.Send(ctx, comm, source, o)
	bar.clear()
	s.sent += report.Bytes
	if !round.Survey {
		s.confirm(report.Outcomes)
	}
	if round.Stream != "" {
		s.reached = max(s.reached, round.From+report.Bytes)
	}
	s.ends.end(round.Guests, report.Outcomes)
	s.served.Store(int64(s.ends.done()))
	for i, o := range report.Outcomes {
		id := wordOf(&round.Guests[i]).ID
		switch {
		case o.Behind, o.Silent:
			s.lacks.forget(id)
			if o.Silent {
				silent++
			} else {
				again++
			}
			fmt.Fprintf(s.std.Err, "%s, rank %d: %s\n", round.Guests[i].Name, o.Rank, o.Reason)
		case round.Survey && o.Done:
			if err := s.lacks.learn(id, o.Answer); err != nil {
				return 0, 0, fmt.Errorf("what %s lacks: %w", round.Guests[i].Name, err)
			}
			again++
		}
	}
	if round.Survey {
		s.ends.fail(round.Guests, errCompared)
	}
	return again, silent, err
}

func namesOf(guests []lobby.Guest) (names []string) {
	for i := range guests {
		names = append(names, guests[i].Name)
	}
	return names
}

// errCompared: a receiver has not come again.
var errCompared = errors.New("lost: it has compared what it has, and has not come again")

func (s *castServer) outcome() *castOutcome {
	took := time.Duration(0)
	if !s.began.IsZero() {
		took = time.Since(s.began)
	}
	o := newCastOutcome(s.plan, cmp.Or(s.used, s.way), took, s.sent, s.ends.receivers())
	if _, totals, ok := s.origin.Digest(); ok { // more may have been written before the first round
		o.Bytes = totals.Bytes
	}
	return o
}
