package sim

import "bytes"

// message is what the step broadcasts.
func (c *checker) message(step int) []byte {
	if c.messages[step] == nil {
		m := make([]byte, c.w.sc.Script[step].Bytes)
		r := seeded(c.w.sc.Seed, 'b', uint64(step))
		r.fill(m)
		c.messages[step] = m
	}
	return c.messages[step]
}

// bufferFor returns the buffer that a rank calls with.
func (c *checker) bufferFor(p *process, o *Op) []byte {
	c.checkScribble(p)
	if o.Kind != OpBcast {
		return nil
	}
	if c.w.sc.Shared {
		return c.message(p.step)
	}
	buf := p.old[:0]
	if cap(buf) < o.Bytes {
		buf = make([]byte, 0, o.Bytes)
	}
	buf = buf[:o.Bytes]
	clear(buf)
	if p.rank == o.Root {
		copy(buf, c.message(p.step))
	}
	return buf
}

func (c *checker) checkBytes(p *process) {
	if want := c.message(p.step); !c.w.sc.Shared && !c.disagreed && !bytes.Equal(p.buf, want) {
		at := 0
		for at < len(want) && p.buf[at] == want[at] {
			at++
		}
		c.fail("rank %d has wrong bytes in step %d, from %d on of %d", p.rank, p.step, at, len(want))
	}
}

// checkAll checks that all ranks have what is acknowledged.
func (c *checker) checkAll(root *process) {
	for _, p := range c.w.procs {
		switch {
		case p.state == crashed || p.step > root.step || c.w.sc.Shared || c.disagreed:
		case p.step < root.step || !p.begun:
			c.fail("the root returns from step %d, which rank %d has not entered", root.step, p.rank)
		case !bytes.Equal(p.buf, c.message(root.step)):
			c.fail("the root returns from step %d, whose message rank %d has not got", root.step, p.rank)
		}
	}
}

// scribbled is what a buffer holds that is its process's again.
const scribbled = 0xEE

func (c *checker) scribble(p *process) {
	if !c.w.sc.Shared {
		for i := range p.buf {
			p.buf[i] = scribbled
		}
		p.old = p.buf
	}
}

func (c *checker) checkScribble(p *process) {
	if c.w.sc.Shared || p.err != nil {
		return
	}
	for i, b := range p.old {
		if b != scribbled {
			c.fail("rank %d: byte %d of a buffer was written after its broadcast had returned", p.rank, i)
			return
		}
	}
}
