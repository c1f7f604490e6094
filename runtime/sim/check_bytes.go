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
	if o.row().Blocks == nil {
		return nil
	}
	if c.w.sc.Shared {
		return c.message(p.step)
	}
	var buf []byte
	if n := len(p.spare) - 1; n >= 0 {
		buf, p.spare = p.spare[n], p.spare[:n]
	}
	if cap(buf) < o.Bytes {
		buf = make([]byte, o.Bytes)
	}
	buf = buf[:o.Bytes]
	clear(buf)
	if p.rank == o.Root {
		copy(buf, c.message(p.step))
	}
	return buf
}

func (c *checker) checkBytes(p *process, r *request) {
	if want := c.message(r.step); !c.w.sc.Shared && !c.disagreed && !bytes.Equal(r.buf, want) {
		at := 0
		for at < len(want) && r.buf[at] == want[at] {
			at++
		}
		c.fail("rank %d has wrong bytes in step %d, from %d on of %d", p.rank, r.step, at, len(want))
	}
}

// checkAll checks that all ranks have what is acknowledged, whose root is done
// with r. Those whose calls have failed since had it, or the root would not know.
func (c *checker) checkAll(root *process, r *request) {
	for _, p := range c.w.procs {
		if p == root || p.state == crashed || p.err != nil || c.w.sc.Shared || c.disagreed {
			continue
		}
		switch own := p.requestOf(r.step); {
		case own == nil && c.enters[p.rank][r.step] > 0:
		case own == nil || own.seq == 0:
			c.fail("the root returns from step %d, which rank %d has not entered", r.step, p.rank)
		case !bytes.Equal(own.buf, c.message(r.step)):
			c.fail("the root returns from step %d, whose message rank %d has not got", r.step, p.rank)
		}
	}
}

// scribbled is what a buffer holds that is its process's again.
const scribbled = 0xEE

func (c *checker) scribble(p *process, r *request) {
	if !c.w.sc.Shared {
		for i := range r.buf {
			r.buf[i] = scribbled
		}
		p.spare = append(p.spare, r.buf)
	}
}

func (c *checker) checkScribble(p *process) {
	if c.w.sc.Shared || p.err != nil {
		return
	}
	for _, buf := range p.spare {
		for i, b := range buf {
			if b != scribbled {
				c.fail("rank %d: byte %d of a buffer was written after its broadcast had returned", p.rank, i)
				return
			}
		}
	}
}
