package sim

// window is how much of a lane may be under way: it doubles while what is sent
// comes, up to half of what was lost with last, and then grows by a segment for
// each window that has come; a loss halves it, unless Net.Steady says otherwise.
type window struct {
	wide  int
	until int  // that it doubles
	used  Time // when it last sent
}

func newWindow(n *Net) window { return window{wide: n.First, until: n.Flight} }

// rest begins anew after a pause.
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
