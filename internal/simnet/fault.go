package simnet

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Faults are evaluated when a packet passes the switch or a process wakes.

// active reports whether f is active now.
func (w *world) active(f *Fault) bool { return f.From <= w.now && w.now < f.Until }

// concerns reports whether f concerns a host.
func (f *Fault) concerns(host int) bool { return f.Host < 0 || f.Host == host }

// meets reports whether f concerns a packet to a host.
func (f *Fault) meets(p *packet, host int) bool {
	return f.concerns(host) && (f.Way == "" || f.Way == p.way()) && (len(f.Chunks) == 0 || slices.Contains(f.Chunks, p.chunk()))
}

// strikes draws whether a fault of kind k affects a packet to a host.
func (w *world) strikes(k FaultKind, p *packet, host int) bool {
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if f.Kind == k && w.active(f) && f.meets(p, host) && w.random.chance(f.PerMille) {
			return true
		}
	}
	return false
}

// lostTo draws whether a packet is lost on its way between two hosts.
func (w *world) lostTo(p *packet, from, to int) bool {
	if w.now < w.hosts[to].burst {
		return true
	}
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if !w.active(f) {
			continue
		}
		switch {
		case f.Kind == FaultPartition && f.Side>>from&1 != f.Side>>to&1:
			return true
		case f.Kind == FaultLoss && f.meets(p, to) && w.random.chance(f.PerMille):
			return true
		case f.Kind == FaultBurst && f.meets(p, to) && w.random.chance(f.PerMille):
			w.hosts[to].burst = min(w.now+f.Amount, f.Until)
			return true
		}
	}
	return false
}

// detour draws the additional delay of a packet to a host.
func (w *world) detour(p *packet, to int) (extra Time) {
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if f.Kind == FaultReorder && w.active(f) && f.meets(p, to) && w.random.chance(f.PerMille) {
			extra += w.random.upTo(f.Amount)
		}
	}
	return extra
}

// slowness returns the factor by which the links of a host are slower.
func (w *world) slowness(host int) int {
	slow := 1
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if f.Kind == FaultSlow && w.active(f) && f.concerns(host) {
			slow = max(slow, int(f.Amount))
		}
	}
	return slow
}

// pausedUntil returns the time until which a process is paused, or 0 if it may run.
func (w *world) pausedUntil(rank int) Time {
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if f.Kind == FaultPause && f.Rank == rank && w.active(f) {
			return f.Until
		}
	}
	return 0
}

// hushed reports whether a rank, or any rank if rank is -1, gives no sign of life for long enough
// to be lost: its process is paused, or nothing passes between its host and others.
func (w *world) hushed(rank int) bool {
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if w.comm.Silence == 0 || f.Until-f.From < w.comm.Silence {
			continue
		}
		if f.Kind == FaultPartition || f.Kind == FaultPause && (rank < 0 || f.Rank == rank) {
			return true
		}
	}
	return false
}

// stopped reports whether a rank's process was paused for long enough to be lost.
func (w *world) stopped(rank int) bool {
	return slices.ContainsFunc(w.sc.Faults, func(f Fault) bool {
		return f.Kind == FaultPause && f.Rank == rank && w.comm.Silence > 0 && f.Until-f.From >= w.comm.Silence
	})
}

// without reports whether ranks that call others lost have gone on without rank, which was stopped.
// When it continues, it may conclude from frames that came before it was given up: it agrees with
// ranks that are not there any more.
func (w *world) without(rank int, lost []int) bool {
	return w.stopped(rank) && slices.Contains(lost, rank)
}

// apart reports whether a partition separated two ranks for long enough that each is lost to the
// other.
func (w *world) apart(a, b int) bool {
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		if f.Kind == FaultPartition && w.comm.Silence > 0 && f.Until-f.From >= w.comm.Silence && f.Side>>w.hostOf[a]&1 != f.Side>>w.hostOf[b]&1 {
			return true
		}
	}
	return false
}

// beginning returns when a process begins.
func (w *world) beginning(rank int) Time {
	at := Time(1)
	for i := range w.sc.Faults {
		if f := &w.sc.Faults[i]; f.Kind == FaultLate && f.Rank == rank {
			at = max(at, f.Until)
		}
	}
	return at
}

// twist returns what a rank calls in a step. A fault may make it differ from the other ranks' call.
func (w *world) twist(rank, step int) Op {
	o := w.sc.Script[step]
	for i := range w.sc.Faults {
		f := &w.sc.Faults[i]
		switch {
		case f.Kind != FaultMismatch || f.Rank != rank || int(f.Amount) != step:
		case o.row().Rooted:
			o.Root = (o.Root + 1) % w.sc.Ranks
			w.disagreed = true
		case o.Counted:
			o.Counted = false
			w.disagreed = true
		case o.row().Blocks != nil:
			o.Bytes++
			w.disagreed = true
		case o.row().Synchronizes:
			o.Algorithm, o.Degree, o.FanIn, o.FanOut = "barrier/dissemination", 2, 0, 0
			w.disagreed = true
		}
	}
	return o
}

// died reports whether any rank has died.
func (w *world) died() bool {
	for _, p := range w.procs {
		if p.state == crashed {
			return true
		}
	}
	return false
}

// die ends a process without a goodbye. Its system notifies the connected ranks, unless the host
// has died too.
func (p *process) die(f *Fault) {
	if !p.alive() {
		return
	}
	w := p.w
	w.note(noteCrash, p.rank, nil, 0)
	p.state, p.healthy = crashed, false
	p.silent = f.Kind == FaultSilent
	if p.silent && len(w.hosts[w.hostOf[p.rank]].ranks) == 1 {
		w.hosts[w.hostOf[p.rank]].dead = true
		for _, from := range w.procs {
			for lane := range wire.Lanes {
				if l := from.out[index(p.rank, lane)]; l != nil && l.shut {
					l.ask(w)
				}
			}
		}
		return
	}
	p.silent = false
	for _, peer := range p.peers() {
		w.at(w.now+w.tripTo(p.rank, peer)+f.Amount, event{kind: notice, rank: peer, arg: p.rank, note: peerEnded})
	}
	p.dropOut()
}
