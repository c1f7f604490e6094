package simnet

// window is the number of bytes of a lane that may be under way. It doubles while packets arrive,
// up to half of its value at the last loss, and then grows by a segment for each window that has
// arrived. A loss halves it, unless Net.Steady is set.
type window struct {
	wide  int
	until int  // limit of the doubling
	used  Time // time of the last transmission
}

func newWindow(n *Net) window { return window{wide: n.First, until: n.Flight} }

// rest resets the window after a pause.
func (v *window) rest(now Time, n *Net) {
	if now-v.used > n.Resend {
		v.wide = min(v.wide, n.First)
	}
	v.used = now
}

func (v *window) narrow(n *Net) {
	if n.Steady {
		return
	}
	v.wide = max(n.Segment, v.wide/2)
	v.until = v.wide
}

func (v *window) widen(bytes int, n *Net) {
	if v.wide < v.until {
		v.wide += bytes
	} else {
		v.wide += bytes * n.Segment / v.wide
	}
	v.wide = min(v.wide, n.Flight)
}
