package cast

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

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/tcp"
)

const (
	// regroupTime is how long the sender waits for the receivers of a round that could not connect,
	// and for further receivers that gave no sign of life when the first of them has come again. A
	// receiver that lives enters again at once.
	regroupTime = 5 * time.Second
	// restTime is how long the sender waits for receivers that come again after a round. A slow
	// disk may have to finish a write.
	restTime = 30 * time.Second
	// mostMeetings is the greatest number of attempts of a party to connect.
	mostMeetings = 4
	// The hosts of a round wait for a host that gives no sign of life: at least leastQuiet, and at
	// most mostQuiet. A host that comes back before --silence is over gets the rest after them. A
	// sign of life may queue behind quietBytes of data. On links slower than quietRate bytes a
	// second, it may queue behind more; there, and where the rate is not known, the hosts wait for
	// the whole --silence.
	leastQuiet = 500 * time.Millisecond
	mostQuiet  = 3 * time.Second
	quietBytes = 3e6
	quietRate  = 1e6
	// mcastRate is the least rate of networks, in bytes a second, at which a sender that may choose
	// takes multicast. On slower networks, data in queues would be taken for lost, and the chain is
	// faster.
	mcastRate = 100e3
)

// server serves receivers in rounds. A receiver that comes during a round is served in the next
// round.
type server struct {
	*Options
	l        *net.TCPListener
	in       *lobby.Lobby
	guests   *awaited
	payload  *Payload
	events   *events
	silence  time.Duration // time after which a silent host is lost; 0: never
	way      string        // transport; Auto until it is known
	used     string        // transport of the first round
	deadline time.Time
	began    time.Time // when the first round began
	ends     ledger
	lacks    lacks
	rates    rates
	absent   map[string]time.Time // receivers that gave no sign of life and have not come again, and until when they may
	hurry    func()               // called when a receiver waits, so that it does not wait for absent ones; may be nil
	served   atomic.Int64         // number of receivers that have everything
	waiting  int                  // number of receivers that were not chosen for the last round
	sent     int64
	stream   string // name of the stream for receivers that lack all blocks; the same in each round
	reached  int64  // greatest position of that stream that was sent
	streamed Digest // digest of a stream payload; zero until it has been sent
	packed   bool   // the data are compressed
	chosen   bool   // packed has been decided
	voided   int    // number of files that had changed while they were read, when stream was drawn
}

// round is a party of receivers and the data that it gets.
type round struct {
	*lobby.Party
	roundNote
	lacked  *block.Set // blocks that are sent, or compared by a survey; nil: all
	outline bool       // only sizes and times are compared
	rate    float64    // median rate of the receivers' networks in bytes a second; 0: not known
}

// Serve sends the payload to receivers that come to l by themselves. It begins when expect
// receivers have come, or after o.Wait. If expect is 0, Serve sends to all receivers that come
// within o.Wait, or to MaxReceivers if o.Wait is 0. It leaves l open. The result is nil if the cast
// has not begun.
func Serve(ctx context.Context, l *net.TCPListener, expect int, p *Payload, o Options) (*Result, error) {
	events := newEvents(o.Events)
	out, err := serve(ctx, l, comers(l, expect, events), p, &o, events)
	if out != nil && err != nil {
		out.Error = err.Error()
	}
	return out, err
}

// serve sends to the receivers in guests, which come to l. The result is nil if the cast has not
// begun.
func serve(ctx context.Context, l *net.TCPListener, guests *awaited, p *Payload, o *Options, events *events) (*Result, error) {
	in, err := lobby.Open(l, o.lobby())
	if err != nil {
		return nil, err
	}
	s := &server{
		Options: o, l: l, in: in, guests: guests, payload: p, events: events,
		way: cmp.Or(o.Transport, Auto), silence: max(0, cmp.Or(o.Silence, defaultSilence)),
		deadline: time.Now().Add(o.Wait), stream: rand.Text(), absent: make(map[string]time.Time),
	}
	err = spelled(ctx, s.rounds(ctx, guests.want), func(int) string { return "" })
	waiting := in.Close(s.closing(err))
	if len(s.ends.list) == 0 {
		return nil, err
	}
	if err != nil && !p.streams() { // these waited for a later round
		s.ends.unserved(waiting, err)
	}
	return s.result(), err
}

// closing returns the reason that is given to receivers without a place.
func (s *server) closing(err error) string {
	switch {
	case len(s.ends.list) > 0 && s.payload.streams():
		return "the stream has begun without this host"
	case err != nil:
		return err.Error()
	}
	return wordsOver
}

// wordsOver is the reason for receivers that come when the cast is over.
const wordsOver = "the cast is over"

// digest returns the digest of the whole payload. ok is false until all of it has been read.
func (s *server) digest() (d Digest, ok bool) {
	if s.payload.streams() {
		return s.streamed, s.streamed != Digest{}
	}
	d, _, ok = s.payload.Origin.Digest()
	return d, ok
}

// confirm compares the digest in each receiver's answer with that of the payload. It sets the
// outcome of a receiver with another digest to a failure.
func (s *server) confirm(outcomes []Outcome) {
	want, whole := s.digest()
	for i := range outcomes {
		o := &outcomes[i]
		if o.Done && (!whole || !bytes.Equal(o.Answer, want[:])) {
			o.Done, o.Reason = false, fmt.Sprintf("it has other data: its digest is %x, not %x", o.Answer, want)
		}
	}
}

// rounds serves parties until no receiver waits and none is expected.
func (s *server) rounds(ctx context.Context, want *lobby.Count) (err error) {
	stop := s.until(want, s.Wait)
	for meetings := 1; ; meetings++ {
		round, hosted := s.host(ctx, want)
		stop()
		switch {
		case errors.Is(hosted, lobby.ErrNobody) && s.ends.served():
			return nil
		case errors.Is(hosted, lobby.ErrNobody) && len(s.ends.list) > 0:
			return err // of the last round
		case hosted != nil:
			return hosted
		}
		s.ends.begin(round.Guests)
		comm, unmet := s.meet(ctx, round)
		if unmet != nil {
			unmet = spelled(ctx, unmet, round.name)
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
		if again, silent, err = s.send(ctx, comm, round); err != nil && !errors.Is(err, ErrNobody) || s.payload.streams() || s.Compare {
			return err
		}
		if wait := s.silence - round.Silence; silent > 0 && wait > max(0, time.Until(s.deadline)) {
			s.events.notice("", fmt.Sprintf("hosts that do not answer may come again within %v", wait))
		}
		n, rest := s.missing()
		switch {
		case again > 0:
			want, stop = s.back(again+s.waiting, restTime)
		case rest > max(0, time.Until(s.deadline)):
			want, stop = s.unhurried(n+s.waiting, rest)
		default:
			want, stop = s.next()
		}
		s.guests.awaitRound(want, s.ends.names())
		goruntime.GC() // frees the memory of this round before the next one needs as much
	}
}

// host waits for receivers, and chooses the party of the next round and what it gets. Receivers
// that resume first get a survey, and then the blocks that they lack.
func (s *server) host(ctx context.Context, want *lobby.Count) (*round, error) {
	r := new(round)
	choose := func(all []lobby.Guest) ([]int, string) {
		var chosen []int
		if s.Resume && s.payload.Origin.Quick() {
			chosen, r.outline = s.lacks.unseen(all)
		}
		if s.Resume && !r.outline {
			chosen, r.lacked = s.lacks.unknown(all)
		}
		if r.Survey = len(chosen) > 0; !r.Survey {
			chosen, r.lacked = s.lacks.group(all)
			if s.behind() {
				chosen = s.rates.leaveOut(all, chosen, s.remaining(r.lacked, s.from(all, chosen, r.lacked)), s.Limit, s.events)
			}
			if r.From = s.from(all, chosen, r.lacked); r.lacked == nil {
				r.Stream = s.stream
			}
		}
		if s.probe(len(all)) >= sureProbe {
			r.rate = middleRate(all, chosen, 0)
		}
		if !r.Survey {
			r.Packed = s.packs(r.rate)
		}
		s.waiting = len(all) - len(chosen)
		for i := range all {
			delete(s.absent, wordOf(&all[i]).ID)
		}
		arrange(all, chosen, s.guests.order)
		r.Hops = s.Hops
		r.Transport, r.Silence = s.wayTo(ctx, all, chosen, r.rate), cmp.Or(s.quiet(r.rate, s.returns(all, chosen)), -1)
		return chosen, r.spell()
	}
	stop := waitingFor(func(line string) { s.events.notice("", line) }, s.waits)
	came := func(n int) {
		if s.guests.came(n); n > 0 && s.hurry != nil {
			s.hurry()
		}
	}
	party, err := s.in.Host(ctx, lobby.Reception{Want: want, Probe: s.probe, Choose: choose, Came: came})
	stop()
	r.Party, s.hurry = party, nil
	return r, err
}

// waits describes the receivers for which the sender waits.
func (s *server) waits() string {
	all, refused := s.in.Here()
	text := s.guests.describe(namesOf(all))
	if done := s.served.Load(); done > 0 {
		text = fmt.Sprintf("%d of %d have everything; others may still come", done, max(int64(s.guests.total), done))
	}
	if refused != nil {
		text = fmt.Sprintf("%s; a connection was refused: %v", text, refused)
	}
	return text
}

// from returns the byte of the stream at which the chosen receivers, which lack the blocks in
// lacked, begin: the first one that one of them lacks.
func (s *server) from(all []lobby.Guest, chosen []int, lacked *block.Set) int64 {
	if lacked != nil {
		return 0 // the stream of some blocks is another one
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

// returns reports whether a chosen receiver gave no sign of life in its last round.
func (s *server) returns(all []lobby.Guest, chosen []int) bool {
	return slices.ContainsFunc(chosen, func(i int) bool { return s.ends.last(&all[i]).Silent })
}

// quiet returns how long the hosts of a round wait for a host that gives no sign of life, or 0 for
// ever. rate is the rate of their networks in bytes a second. before says that one of them was
// silent in an earlier round, and came back.
func (s *server) quiet(rate float64, before bool) time.Duration {
	switch {
	case !s.behind(), rate < quietRate:
		return s.silence
	case before:
		return min(s.silence, mostQuiet)
	}
	behind := time.Duration(quietBytes / rate * float64(time.Second))
	return min(s.silence, max(leastQuiet, min(behind, mostQuiet)))
}

// back returns the count for n receivers that are to come again within d.
func (s *server) back(n int, d time.Duration) (want *lobby.Count, stop func()) {
	want = lobby.NewCount(max(n, 0))
	return want, s.until(want, d)
}

// missing returns how many receivers have given no sign of life and may come again, and the time
// that is left to the last of them.
func (s *server) missing() (n int, rest time.Duration) {
	for id, until := range s.absent {
		if left := time.Until(until); left > 0 {
			n, rest = n+1, max(rest, left)
		} else {
			delete(s.absent, id)
		}
	}
	return n, rest
}

// unhurried is like back, for receivers that may come again late or never. Once one has come, the
// next round begins after regroupTime.
func (s *server) unhurried(n int, d time.Duration) (want *lobby.Count, stop func()) {
	want, late := s.back(n, d)
	var stopGrace func()
	s.hurry = func() {
		if stopGrace == nil {
			stopGrace = s.until(want, regroupTime)
		}
	}
	return want, func() {
		if late(); stopGrace != nil {
			stopGrace()
		}
	}
}

// until stops the count want after d. If d is 0, it never does.
func (s *server) until(want *lobby.Count, d time.Duration) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(d, want.Stop)
	return func() { timer.Stop() }
}

// next returns the count for the receivers of a later round. They are the receivers that have come
// meanwhile, and any that the cast expects within --wait.
func (s *server) next() (want *lobby.Count, stop func()) {
	want = lobby.NewCount(1)
	left := time.Until(s.deadline)
	if left <= 0 || s.ends.done() >= s.guests.total {
		want.Stop()
	}
	return want, s.until(want, left)
}

// wayTo returns the transport for the chosen receivers. A single receiver needs no multicast, and a
// receiver with a slow network would lose most of it. rate is the median rate of the networks in
// bytes a second, or 0 if it is not known.
func (s *server) wayTo(ctx context.Context, all []lobby.Guest, chosen []int, rate float64) string {
	s.guests.full()
	if s.auto() && (len(chosen) == 1 || slices.ContainsFunc(chosen, func(i int) bool { return s.ends.last(&all[i]).Behind || s.rates.knows(&all[i]) })) {
		return Chain
	}
	if s.way == Auto {
		s.way = Multicast
		if rate > 0 && rate < mcastRate {
			s.chain(fmt.Errorf("the networks of the receivers take no more than %s/s", words.Bytes(rate)))
		} else if why := s.muted(ctx, all); why != nil {
			s.chain(why)
		}
	}
	return s.way
}

// muted returns why this host or a guest cannot multicast, or nil if all can.
func (s *server) muted(ctx context.Context, all []lobby.Guest) error {
	where := s.l.Addr().String()
	at, err := s.guests.at()
	switch {
	case err == nil:
		where = at.String()
	case s.Interface == "":
		return err
	}
	if err := s.multicasts(ctx, where); err != nil {
		return err
	}
	for i := range all {
		if w := wordOf(&all[i]); w.Mute != "" {
			return fmt.Errorf("%s: %s", all[i].Name, w.Mute)
		}
	}
	return nil
}

// auto reports whether the sender chooses the transport.
func (s *server) auto() bool { return s.Transport == "" || s.Transport == Auto }

// chain makes all later rounds use the chain, and reports the reason.
func (s *server) chain(why error) {
	s.way = Chain
	s.events.notice("", fmt.Sprintf("transport: tcp, since %v", why))
}

// meet connects this host with a party. If multicast fails, the next party uses the chain.
func (s *server) meet(ctx context.Context, round *round) (*runtime.Comm, error) {
	meeting, stop := round.Meeting(ctx)
	defer stop()
	cfg := tcp.Config{Coordinator: s.l.Addr().String(), Listener: s.l, Share: true, Guests: s.in.Welcome}
	if at, err := s.guests.at(); err == nil {
		cfg.Bind = at.Addr().String()
	}
	comm, err := s.join(meeting, round.roundNote, &round.Place, cfg)
	if err == nil {
		return comm, nil
	}
	err = withCause(ctx, err)
	if gone := errors.As(err, new(*lobby.GoneError)); !gone && s.auto() && round.Transport == Multicast {
		s.chain(err)
	} else if ctx.Err() == nil {
		s.events.notice("", fmt.Sprintf("the hosts connect again: %s", named(withoutDetails(err), round.name)))
	}
	return nil, err
}

// send serves a party. again is the number of its receivers that come again. silent is the number of
// receivers that gave no sign of life and may come again.
func (s *server) send(ctx context.Context, comm *runtime.Comm, round *round) (again, silent int, err error) {
	if s.began.IsZero() {
		s.began, s.used = time.Now(), round.Transport
	}
	o := SendOptions{Limit: s.Limit, Strict: s.Strict, Behind: s.behind(), Chain: round.Transport == Chain, Rate: round.rate, piece: s.piece}
	source, total, doing := s.payload.source(round.lacked, &s.streamed), s.remaining(round.lacked, round.From), "send"
	show := func(at Progress) { s.events.emit(Event{Kind: RoundProgress, Progress: at}) }
	if round.Packed {
		var raw, packed atomic.Int64
		source, total = Compressed(source, &raw, &packed), s.bytes(round.lacked)
		show = func(at Progress) { // converts to bytes of files
			from, n := float64(round.From), float64(packed.Load())
			at.Bytes = int64((from + float64(at.Bytes)) * float64(raw.Load()) / max(n, 1))
			s.events.emit(Event{Kind: RoundProgress, Progress: at})
		}
	}
	source = Tail(source, round.From)
	if round.Survey {
		source, total, doing = s.comparison(round), -1, "compare"
	}
	s.events.emit(Event{Kind: RoundBegins, Text: doing + " by " + WayOf(round.Transport), Total: total, Hosts: namesOf(round.Guests)})
	o.Progress = saveMemory(s.Alone, show)
	report, err := Send(ctx, comm, source, o)
	err = spelled(ctx, err, round.name)
	for i := range report.Outcomes {
		each := &report.Outcomes[i]
		if each.Reason = named(each.Reason, round.name); !each.Done && ctx.Err() != nil && !each.told {
			each.Reason = err.Error()
		}
	}
	s.events.emit(Event{Kind: RoundEnds})
	s.sent += report.Bytes
	if !round.Survey {
		s.confirm(report.Outcomes)
	}
	if round.Stream != "" {
		s.reached = max(s.reached, round.From+report.Bytes)
	}
	if s.payload.Origin.Voided() > s.voided { // a file changed, so the next round sends other bytes
		s.voided, s.stream, s.reached = s.payload.Origin.Voided(), rand.Text(), 0
	}
	s.ends.end(round.Guests, report.Outcomes)
	s.served.Store(int64(s.ends.done()))
	for i, o := range report.Outcomes {
		id := wordOf(&round.Guests[i]).ID
		if !round.Survey { // it has more data by now
			s.lacks.forget(id)
		}
		switch {
		case s.ends.has(id) && !o.Done: // nothing is missing, so the sender does not wait for it
		case o.Behind, o.Silent:
			s.lacks.forget(id)
			if o.Silent {
				silent++
				s.absent[id] = time.Now().Add(s.silence - round.Silence)
			} else {
				again++
			}
			s.events.notice(round.Guests[i].Name, s.behindWords(&o, round.Silence))
		case round.Survey && o.Done:
			if err := s.lacks.learn(id, o.Answer, round.outline); err != nil {
				return 0, 0, fmt.Errorf("what %s lacks: %w", round.Guests[i].Name, err)
			}
			again++
		}
	}
	switch {
	case s.Compare && err == nil:
		err = s.compared(ctx, round)
	case round.Survey:
		s.ends.fail(round.Guests, errCompared)
	}
	return again, silent, err
}

// behindWords says why a receiver is served after the others.
func (s *server) behindWords(o *Outcome, silence time.Duration) string {
	if !o.Silent || silence <= 0 {
		return o.Reason
	}
	return fmt.Sprintf("no answer for %v: it is very busy, its process is stopped, or its network is cut; it gets the rest after the others", silence)
}

func namesOf(guests []lobby.Guest) (names []string) {
	for i := range guests {
		names = append(names, guests[i].Name)
	}
	return names
}

// compared records what the receivers of a survey lack, for a cast that only compares.
func (s *server) compared(ctx context.Context, r *round) error {
	for i := range r.Guests {
		id := wordOf(&r.Guests[i]).ID
		each := s.ends.byID[id]
		if !each.Done {
			continue
		}
		set := s.lacks.sets[id]
		if r.outline {
			set = s.lacks.seen[id]
		}
		lacks, err := s.payload.Origin.Lacking(ctx, set)
		if err != nil {
			return err
		}
		each.Lacks = &lacks
	}
	return nil
}

// comparison returns the source of a survey or an outline.
func (s *server) comparison(r *round) Source {
	if r.outline {
		return Outline(s.payload.Origin)
	}
	return Survey(s.payload.Origin, r.lacked)
}

// errCompared is the reason of a receiver that has not come again after a survey.
var errCompared = errors.New("lost: it has compared its files and has not come again")

func (s *server) result() *Result {
	took := time.Duration(0)
	if !s.began.IsZero() {
		took = time.Since(s.began)
	}
	o := newResult(s.payload, cmp.Or(s.used, s.way), took, s.sent, s.ends.receivers())
	o.began = s.began
	if !s.payload.streams() {
		if _, totals, ok := s.payload.Origin.Digest(); ok { // files may have grown before the first round
			o.Bytes = totals.Bytes
		}
	}
	return o
}
