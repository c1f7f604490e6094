package simnet

// A process drives its core as runtime.Comm does; see drive.go there. While it is inside a call, or
// its background runs, it polls whenever something has arrived, ticks after each poll for which
// Timed holds, and ticks before it parks.

// driver is the state of a process as a driver.
type driver struct {
	busy    Time // the process works until then
	due     Time // the latest time of the next look; 0: none is scheduled
	work    int  // frames and datagrams since the last poll, in and out
	serving bool // the background drives the core
	entered int  // number of calls so far
	looked  int  // value of entered when the background last looked
	quiet   Time // time until the background looks again
	running bool // run is active
	idle    int  // consecutive looks at one time that found nothing
	idleAt  Time
}

// maxQuiet is the same as in runtime.Comm.
const maxQuiet = 50

// driving reports whether the process looks at what arrives.
func (p *process) driving() bool {
	switch p.state {
	case calling:
		return true
	case computing:
		return p.serving || p.w.sc.Eager && p.core.Err() == nil
	}
	return false
}

// lookAt schedules a look of the process at a time at the latest.
func (p *process) lookAt(at Time) {
	at = max(at, p.w.now)
	if p.due != 0 && p.due <= at && p.due > p.w.now {
		return
	}
	p.due = at
	p.w.at(at, event{kind: look, rank: p.rank})
}

// doDue does everything that is to be done now.
func (p *process) doDue() {
	if p.running || p.w.violation != nil {
		return
	}
	p.running = true
	defer func() { p.running = false }()
	for p.driving() && p.w.violation == nil {
		if until := p.w.pausedUntil(p.rank); until > 0 {
			p.lookAt(until)
			return
		}
		if free := max(p.busy, p.w.coreFree()); free > p.w.now {
			p.lookAt(free)
			return
		}
		if p.advance() {
			continue
		}
		if p.poll() {
			p.busy = p.w.work(Time(p.work) * p.w.net.Cost)
			p.work = 0
			continue
		}
		// A tick may have ended a call without sending anything.
		if !p.advance() && !p.park() && !p.advance() {
			return
		}
	}
}

// poll moves frames and runs due work.
func (p *process) poll() bool {
	moved := p.move()
	p.core.Sent()
	if p.core.Timed() {
		p.core.Tick(p.w.now)
	}
	return p.core.Sent() || moved
}

// move does the work of the transport's Poll, in the order of runtime/mcast.
func (p *process) move() bool {
	moved := p.cast()
	moved = p.handAll() || moved
	moved = p.readAll() || moved
	moved = p.tellEnds() || moved
	moved = p.offerStash() || moved
	moved = p.takeGrams() || moved
	moved = p.cast() || moved
	return p.handAll() || moved
}

// park schedules the next wakeup, and reports whether the process has to poll first.
func (p *process) park() (again bool) {
	if p.core.Sent(); p.core.Waits() {
		p.core.Tick(p.w.now)
		if p.core.Sent() {
			return true
		}
	}
	due, limited := p.core.Due()
	if !limited {
		return false
	}
	if due <= p.w.now {
		p.spin()
		due = p.w.now + Microsecond
	}
	p.lookAt(due)
	return false
}

// maxSpins is how often in a row a core may say that something is due now and then do nothing.
const maxSpins = 1000

func (p *process) spin() {
	if p.idle++; p.idleAt < p.w.now-2*Microsecond {
		p.idle = 0
	}
	p.idleAt = p.w.now
	if p.idle > maxSpins {
		p.w.fail("rank %d: something is due that a tick does not do", p.rank)
	}
}

// enter and leave bracket every call.
func (p *process) enter() {
	p.entered++
	if p.serving {
		p.serving = false
		p.looked, p.quiet = p.entered, p.w.comm.Idle
		p.w.at(p.w.now+p.quiet, event{kind: backdrop, rank: p.rank})
	}
	p.state = calling
}

func (p *process) leave() {
	p.state = computing
	if p.core.Sent() {
		p.poll()
	}
}

// lookBack is the background's check whether calls have been made since the last check.
func (p *process) lookBack() {
	if p.state != calling && p.state != computing {
		return
	}
	if p.state == calling || p.entered != p.looked || p.driving() {
		p.looked, p.quiet = p.entered, min(2*p.quiet, maxQuiet*p.w.comm.Idle)
		p.w.at(p.w.now+p.quiet, event{kind: backdrop, rank: p.rank})
		return
	}
	p.serving = true
	p.doDue()
}
