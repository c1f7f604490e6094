package simnet

// A confirmation tells the sender of a lane that a packet has arrived. If Net.Confirm gives its
// length, it is a packet of its own, and it also reports, as selective acknowledgements do, which
// earlier packets must be lost.

// confirm sends the confirmation of a packet from the receiver's system.
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

// acknowledge handles a confirmation at the sender. The next confirmation makes up for a lost one,
// since it says how much has arrived in all.
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

// unheard handles the loss of a confirmation. If no later confirmation arrives, the sender asks
// again and gets another confirmation.
func (w *world) unheard(c *packet) {
	c.tries++
	w.at(w.now+w.net.Resend, event{kind: tellAgain, pkt: c})
}
