package core

// delay is how long something usually takes: mean and deviation, as of TCP's round trips (RFC 6298).
type delay struct {
	mean Time // 0: not known
	off  Time // mean of what times are off it
}

// took notes a time. One that is very long counts as four times the mean: something may have come
// in between.
func (d *delay) took(t Time) {
	if d.mean == 0 {
		d.mean = t
	}
	t = min(t, 4*d.mean)
	d.off += (max(t-d.mean, d.mean-t) - d.off) / 4
	d.mean = max(d.mean+(t-d.mean)/8, 1)
}

// late is when it takes longer than usual.
func (d *delay) late() Time { return d.mean + 4*d.off }
