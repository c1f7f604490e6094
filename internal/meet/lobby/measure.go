package lobby

import (
	"cmp"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

// A host may want to know how fast its guests' networks are before it chooses a party. It sends
// each guest some meaningless bytes, a probe, and the guest answers when it has them. The host
// measures guests in turn, since all are behind the host's link. A guest that takes twice as long
// as those before loses its turn, and is then waited for in parallel: its network is slow, or a
// packet is lost, and that does not occupy the host's link. Guests that seem slow are measured
// again, since a loss, or a pause of a processor, looks the same; the best of these probes counts.
const (
	firstProbe  = 64 << 10               // greatest first probe in bytes
	maxProbe    = 128 << 10              // greatest further probe: as much as a connection takes without waiting for its guest
	probeBuffer = 2 * maxProbe           // bytes that the system should buffer
	probeTime   = time.Second            // a guest that has not answered by then gets the rate for this time
	measureTime = 2 * time.Second        // no other guest is measured after this time
	quickest    = 100 * time.Microsecond // a probe that takes less shows only that
	leastTurn   = time.Millisecond       // what a turn may take beyond twice the shortest one
)

// measure measures the waiting guests that were not measured before. probe returns how many bytes
// to send to each of so many guests.
func (h *Lobby) measure(ctx context.Context, probe func(guests int) (bytes int)) {
	if probe == nil {
		return
	}
	h.mu.Lock()
	all := slices.Clone(h.waiting)
	h.mu.Unlock()
	n := min(probe(len(all)), firstProbe)
	if n <= 0 || len(all) < 2 {
		return
	}
	m := &measurement{h: h, until: h.clock.Now().Add(measureTime), link: make(chan struct{}, 1)}
	var measuring sync.WaitGroup
	for _, v := range all {
		if v.guest.Rate > 0 {
			continue
		}
		over := m.turn()
		measuring.Go(func() {
			h.setRate(v, m.probe(ctx, v, n, over))
			again, _ := h.sent(v)
			v.lossy = again > 0
		})
	}
	measuring.Wait()
	h.settleDoubts(ctx, m, all)
}

// sentTo returns the system's data about what it has sent to a guest; see [tcpopt.Sent].
func sentTo(v *visitor) (again int, rate float64) {
	if v.tcp != nil {
		tcpopt.Of(v.tcp, func(fd int) { again, rate = tcpopt.Sent(fd) })
	}
	return again, rate
}

// setRate records a guest's rate. Only the goroutine that measures the guest calls it.
func (h *Lobby) setRate(v *visitor, rate float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.guest.Rate = rate
}

// measurement is the measurement of several guests.
type measurement struct {
	h     *Lobby
	until time.Time
	link  chan struct{} // holds a value while it is a guest's turn

	mu   sync.Mutex
	took []time.Duration // durations of the turns that ended in time
}

// turn waits for the turn of a guest. over ends it, and says whether the guest has been measured.
// The turn ends by itself when it takes twice as long as others take.
func (m *measurement) turn() (over func(measured bool)) {
	m.link <- struct{}{}
	began := m.h.clock.Now()
	end := sync.OnceFunc(func() { <-m.link })
	timer := m.h.clock.AfterFunc(m.patience(), end)
	return func(measured bool) {
		if timer.Stop() && measured {
			m.mu.Lock()
			m.took = append(m.took, m.h.clock.Now().Sub(began))
			m.mu.Unlock()
		}
		end()
	}
}

// patience is the greatest duration of a turn.
func (m *measurement) patience() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.took) == 0 {
		return probeTime
	}
	return 2*slices.Min(m.took) + leastTurn
}

// probe measures a guest by n bytes and ends its turn. It returns the rate in bytes a second, or 0
// if it cannot be measured.
func (m *measurement) probe(ctx context.Context, v *visitor, n int, over func(measured bool)) (rate float64) {
	defer func() { over(rate > 0) }()
	if ctx.Err() != nil || !m.h.clock.Now().Before(m.until) {
		return 0
	}
	there, ok := m.send(ctx, v, 0)
	if !ok {
		return 0
	}
	took, ok := m.send(ctx, v, n)
	if !ok {
		return 0
	}
	if v.late {
		return float64(n) / took.Seconds()
	}
	if 2*there > took { // mostly round trip time, or that answer was lost
		again, ok := m.send(ctx, v, 0)
		if !ok {
			return 0
		}
		there = min(there, again)
	}
	v.there = cmp.Or(min(v.there, there), there)
	return float64(n) / max(took-v.there, took/8, quickest).Seconds()
}

// send sends a probe of n bytes, and returns how long the guest took to receive them, or probeTime
// if it has not answered by then. Such a guest gets no other probe before its answer, which would
// be ambiguous.
func (m *measurement) send(ctx context.Context, v *visitor, n int) (took time.Duration, ok bool) {
	if v.late {
		return probeTime, true
	}
	late := make(chan struct{})
	began := m.h.clock.Now()
	defer m.h.clock.AfterFunc(probeTime, func() { close(late) }).Stop()
	v.asked.Add(1)
	v.conn.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := v.conn.Write(appendProbe(nil, n)); err != nil {
		v.conn.Close() // its usher records that it is gone
		return 0, false
	}
	select {
	case _, ok = <-v.heard:
		return m.h.clock.Now().Sub(began), ok
	case <-late:
		v.late = true
		return probeTime, true
	case <-ctx.Done():
		v.late = true
		return 0, false
	}
}

// hearLate waits for the answer of a guest that is late, as long as guests are measured, and
// reports whether it has come. The guest is then measured again. TCP may take a second to resend
// what is lost several times.
func (m *measurement) hearLate(ctx context.Context, v *visitor) bool {
	over := make(chan struct{})
	defer m.h.clock.AfterFunc(m.until.Sub(m.h.clock.Now()), func() { close(over) }).Stop()
	select {
	case _, ok := <-v.heard:
		v.late = !ok
		return ok
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// makeRoom makes a connection buffer whole probes, whether the guest reads them or not.
func makeRoom(conn net.Conn) {
	if c := contact.TCPConn(conn); c != nil {
		_ = c.SetWriteBuffer(probeBuffer) // if this fails, a probe may have to wait, at most for writeTime
	}
}
