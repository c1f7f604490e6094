package sim

// A confirmation tells the sender of a lane that a packet has come. It is a packet
// of its own where the network says how many bytes it takes, and tells then, as
// selective acknowledgements do, what was sent before and must be lost.

// confirm has the receiver's system confirm a packet.
func (l *lane) confirm(w *world, p *packet) {
	if w.net.Confirm == 0 || w.hostOf[l.from] == w.hostOf[l.to] {
		w.at(w.now+w.tripTo(l.to, l.from), event{kind: confirm, lane: l, arg: p.load})
		return
	}
	c := w.packets.get(&p.head, nil)
	c.from, c.to, c.lane, c.confirms, c.size = l.to, l.from, l, true, w.net.Confirm
	l.came += p.load
	c.num, c.sentAt, c.offset = l.came, p.sentAt, p.num
	w.launch(c)
}

// acknowledge takes a confirmation at the sender. One that was lost is made up for by the
// next, since it says how much has come in all.
func (l *lane) acknowledge(w *world, c *packet) {
	n, sentAt, num := c.num-l.known, c.sentAt, c.offset
	w.packets.put(c)
	for i := 0; i < len(l.lost); {
		if p := l.lost[i]; p.sentAt < sentAt || p.sentAt == sentAt && p.num < num {
			l.again(w, p)
		} else {
			i++
		}
	}
	if n > 0 {
		l.known += n
		l.confirmed(w, n)
	}
}

// unheard is the loss of a confirmation: if no later one comes, the sender asks in
// vain and is told again.
func (w *world) unheard(c *packet) {
	c.tries++
	w.at(w.now+w.net.Resend, event{kind: tellAgain, pkt: c})
}
