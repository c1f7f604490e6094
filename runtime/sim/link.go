package sim

// Link is one direction of a host's connection to the switch.
type Link struct {
	Rate  int64 `json:"rate,omitempty"`  // bits per second; 0: without limit
	Queue int   `json:"queue,omitempty"` // bytes that wait or are being sent; what does not fit is dropped; 0: without limit
	Delay Time  `json:"delay,omitempty"` // from the last bit sent to its arrival
	Burst int   `json:"burst,omitempty"` // bytes that pass at once after a rest, as through a token bucket
}

// pipe is a link in use.
type pipe struct {
	Link
	leaving ring[departure] // what is in the queue
	bytes   int             // of that
	free    Time            // when the last of it has left; earlier than that by a burst, at most

	count LinkCount
}

// LinkCount is what crossed a link.
type LinkCount struct {
	Packets int  `json:"packets"`
	Bytes   int  `json:"bytes"`
	Dropped int  `json:"dropped"` // packets that found the queue full
	Deepest int  `json:"deepest"` // bytes in the queue at most
	Busy    Time `json:"busy"`    // time spent sending
}

// departure is when some bytes leave.
type departure struct {
	at    Time
	bytes int
}

// serialize is how long it takes to send so many bytes, in whole nanoseconds.
func (l *Link) serialize(bytes int) Time {
	if l.Rate == 0 {
		return 0
	}
	return Time((int64(bytes)*8e9 + l.Rate - 1) / l.Rate)
}

// drain forgets what has left by now.
func (p *pipe) drain(now Time) {
	for p.leaving.n > 0 && p.leaving.at(0).at <= now {
		p.bytes -= p.leaving.pop().bytes
	}
}

// full reports whether so many bytes find no room.
func (p *pipe) full(now Time, bytes int) bool {
	p.drain(now)
	return p.Queue > 0 && p.bytes+bytes > p.Queue
}

// send takes a packet and returns when its last bit has left; ok is false if
// it is dropped. slow is how many times longer it takes than the link should.
func (p *pipe) send(now Time, bytes, slow int) (left Time, ok bool) {
	if p.full(now, bytes) {
		p.count.Dropped++
		return 0, false
	}
	took := p.serialize(bytes) * Time(slow)
	p.free = max(p.free, now-p.serialize(p.Burst)) + took
	p.count.Packets++
	p.count.Bytes += bytes
	p.count.Busy += took
	if p.free > now {
		p.leaving.push(departure{p.free, bytes})
		p.bytes += bytes
		p.count.Deepest = max(p.count.Deepest, p.bytes)
	}
	return max(p.free, now), true
}
