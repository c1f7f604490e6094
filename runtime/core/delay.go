package core

// delay estimates how long something takes: mean and deviation, as for TCP's round trips (RFC
// 6298).
type delay struct {
	mean Time // 0: unknown
	off  Time // mean deviation from mean
}

// took adds a time. A very long time counts as four times the mean: something else may have caused
// it.
func (d *delay) took(t Time) {
	if d.mean == 0 {
		d.mean = t
	}
	t = min(t, 4*d.mean)
	d.off += (max(t-d.mean, d.mean-t) - d.off) / 4
	d.mean = max(d.mean+(t-d.mean)/8, 1)
}

// late returns the time after which something takes longer than usual.
func (d *delay) late() Time { return d.mean + 4*d.off }
