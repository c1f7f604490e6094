package rendezvous

import (
	"cmp"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// A host may want to know of its guests how fast their networks are, before it chooses a party. It sends each some bytes that mean
// nothing, a probe, and the guest answers when it has them. Guests are measured in turn, since all are behind the host's link. One that takes
// twice as long as those before has had its turn, and is waited for beside the others: its network is slow, or a packet is lost, for which
// it and not the host's link waits. Who seems slow is measured again, as a loss, or a pause of its processor, looks the same; the best of these
// probes counts.
const (
	firstProbe  = 64 << 10               // bytes that a guest is measured by at most,
	maxProbe    = 128 << 10              // and again if it seems slow: no more than what a connection takes without waiting for its guest
	probeBuffer = 2 * maxProbe           // bytes that the system is to take
	probeTime   = time.Second            // a guest that has not answered by then is as slow as that
	measureTime = 2 * time.Second        // after that no other one is measured
	quickest    = 100 * time.Microsecond // a probe that takes less tells nothing but that
	leastTurn   = time.Millisecond       // what a turn may take beyond twice the shortest one
)

// measure finds out how fast guests are that wait and were not measured before. probe says how many bytes each gets, where so many are measured.
func (h *Lobby) measure(ctx context.Context, probe func(guests int) (bytes int)) {
	if probe == nil {
		return
	}
	h.mu.Lock()
	all := slices.Clone(h.here)
	h.mu.Unlock()
	n := min(probe(len(all)), firstProbe)
	if n <= 0 || len(all) < 2 {
		return
	}
	m := &measurement{h: h, until: h.cfg.Clock.Now().Add(measureTime), link: make(chan struct{}, 1)}
	var measuring sync.WaitGroup
	for _, v := range all {
		if v.guest.Rate > 0 {
			continue
		}
		over := m.turn()
		measuring.Go(func() {
			h.rate(v, m.probe(ctx, v, n, over))
			again, _ := v.sent()
			v.lossy = again > 0
		})
	}
	measuring.Wait()
	h.settle(ctx, m, all)
}

// sent returns what the system tells of what it has sent to a guest, as [tcpopt.Sent] has it.
func (v *visitor) sent() (again int, rate float64) {
	if v.below != nil {
		tcpopt.Of(v.below, func(fd int) { again, rate = tcpopt.Sent(fd) })
	}
	return again, rate
}

// rate takes note of how fast a guest is. Only the goroutine that measures it does.
func (h *Lobby) rate(v *visitor, rate float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.guest.Rate = rate
}

// measurement is one of several guests.
type measurement struct {
	h     *Lobby
	until time.Time
	link  chan struct{} // holds one while it is a guest's turn

	mu   sync.Mutex
	took []time.Duration // by turns, those that were over in time
}

// turn waits for the turn of a guest. over ends it, and says that the guest has been measured; it ends by itself when that takes twice as long as others
// take.
func (m *measurement) turn() (over func(measured bool)) {
	m.link <- struct{}{}
	began := m.h.cfg.Clock.Now()
	end := sync.OnceFunc(func() { <-m.link })
	timer := m.h.cfg.Clock.AfterFunc(m.patience(), end)
	return func(measured bool) {
		if timer.Stop() && measured {
			m.mu.Lock()
			m.took = append(m.took, m.h.cfg.Clock.Now().Sub(began))
			m.mu.Unlock()
		}
		end()
	}
}

// patience is how long a turn is at most.
func (m *measurement) patience() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.took) == 0 {
		return probeTime
	}
	return 2*slices.Min(m.took) + leastTurn
}

// probe returns how fast a guest is by n bytes, in bytes a second, and ends its turn; 0 if it cannot be measured.
func (m *measurement) probe(ctx context.Context, v *visitor, n int, over func(measured bool)) (rate float64) {
	defer func() { over(rate > 0) }()
	if ctx.Err() != nil || !m.h.cfg.Clock.Now().Before(m.until) {
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
	if 2*there > took { // most of it is the way there and back, or that answer was lost
		again, ok := m.send(ctx, v, 0)
		if !ok {
			return 0
		}
		there = min(there, again)
	}
	v.there = cmp.Or(min(v.there, there), there)
	return float64(n) / max(took-v.there, took/8, quickest).Seconds()
}

// send sends a probe of n bytes, and returns how long it took until the guest had them: probeTime if it has not answered by then.
// Such a guest is not asked again before it has, as it would not be known what it answers.
func (m *measurement) send(ctx context.Context, v *visitor, n int) (took time.Duration, ok bool) {
	if v.late {
		return probeTime, true
	}
	late := make(chan struct{})
	began := m.h.cfg.Clock.Now()
	defer m.h.cfg.Clock.AfterFunc(probeTime, func() { close(late) }).Stop()
	v.asked.Add(1)
	v.conn.SetWriteDeadline(time.Now().Add(farewellTime))
	if _, err := v.conn.Write(appendProbe(nil, n)); err != nil {
		v.conn.Close() // its usher says that it is gone
		return 0, false
	}
	select {
	case _, ok = <-v.heard:
		return m.h.cfg.Clock.Now().Sub(began), ok
	case <-late:
		v.late = true
		return probeTime, true
	case <-ctx.Done():
		v.late = true
		return 0, false
	}
}

// hearLate waits for the answer of a guest that has not answered in time, for as long as guests are measured, and reports whether it has
// come: then the guest is asked again. TCP may take a second to send again what is lost several times.
func (m *measurement) hearLate(ctx context.Context, v *visitor) bool {
	over := make(chan struct{})
	defer m.h.cfg.Clock.AfterFunc(m.until.Sub(m.h.cfg.Clock.Now()), func() { close(over) }).Stop()
	select {
	case _, ok := <-v.heard:
		v.late = !ok
		return ok
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// appendProbe appends what a host says before it gives a place: n bytes that mean nothing.
func appendProbe(b []byte, n int) []byte {
	b = binary.BigEndian.AppendUint32(appendStatus(b, ""), noRank)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

// appendWelcome appends what a host says to a guest that it has let in, before anything else.
func appendWelcome(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(appendStatus(b, ""), welcome)
	return binary.BigEndian.AppendUint32(b, 0)
}

// makeRoom has a connection take what is sent by probes, whether its guest takes it or not.
func makeRoom(conn net.Conn) {
	if c := tcpOf(conn); c != nil {
		_ = c.SetWriteBuffer(probeBuffer) // if it fails a probe may have to wait, for farewellTime at most
	}
}
