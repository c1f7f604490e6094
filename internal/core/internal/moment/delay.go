package moment

// Delay estimates how long something takes: mean and deviation, as for TCP's round trips (RFC
// 6298). The zero Delay knows nothing.
type Delay struct {
	mean Time // 0: unknown
	off  Time // mean deviation from mean
}

// Took adds a time. A very long time counts as four times the mean: something else may have caused
// it.
func (d *Delay) Took(t Time) {
	if d.mean == 0 {
		d.mean = t
	}
	t = min(t, 4*d.mean)
	d.off += (max(t-d.mean, d.mean-t) - d.off) / 4
	d.mean = max(d.mean+(t-d.mean)/8, 1)
}

// Mean returns the mean, or 0 if nothing is known.
func (d *Delay) Mean() Time { return d.mean }

// Late returns the time after which something takes longer than usual, or 0 if nothing is known.
func (d *Delay) Late() Time { return d.mean + 4*d.off }

// Longest returns the longest wait of a timer whose waits begin with base and grow.
func Longest(base Time) Time { return 64 * base }
