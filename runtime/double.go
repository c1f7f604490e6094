package runtime

import "github.com/schedgen/schedgen/ir"

// TCP resends a lost frame, but not before it has noticed, and no later frame
// tells it of the loss of a signal, which is the last for a while. Signals are
// small, and slots are set once: while losses are seen, a signal goes as a
// datagram beside its put, and whichever comes first counts.

// lossMemory is for how many operations a loss makes others be expected.
const lossMemory = 16

// noteLoss remembers that the network loses frames.
func (c *Comm) noteLoss() {
	if c.caps.Direct {
		c.lossyTill = c.seq + lossMemory
	}
}

// double sends the signal of c.frame, which is about to be put, as a datagram.
func (c *Comm) double(to int) {
	if c.seq > c.lossyTill || c.frame.Slot.Kind() != ir.KindSignal {
		return
	}
	unsent := c.frame.Unsent
	c.frame.Unsent = nil // it has no body
	c.tr.Datagram(to, &c.frame)
	c.frame.Unsent = unsent
	c.totals.Doubled++
}
