package verify

import "slices"

// run is the half-open interval [lo, hi).
type run struct{ lo, hi int32 }

// runs is a set of numbers: runs in ascending order that neither overlap nor touch. So equal sets
// are equal slices. The ranks that a rank has heard of in a barrier are a few runs, however many
// ranks there are.
type runs []run

// find returns the index of the first run that ends after x.
func (a runs) find(x int32) int {
	lo, hi := 0, len(a)
	for lo < hi {
		if mid := (lo + hi) / 2; a[mid].hi > x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// firstMissing returns the smallest number in [lo, hi) that is not in a, or hi if there is none.
func (a runs) firstMissing(lo, hi int32) int32 {
	if i := a.find(lo); i < len(a) && a[i].lo <= lo {
		return min(a[i].hi, hi)
	}
	return min(lo, hi)
}

// missing counts the numbers of w that are not in a.
func (a runs) missing(w run) int {
	n := int(w.hi - w.lo)
	for _, r := range a[a.find(w.lo):] {
		n -= int(max(0, min(r.hi, w.hi)-max(r.lo, w.lo)))
	}
	return n
}

func (a runs) has(x int32) bool { return a.firstMissing(x, x+1) > x }

// includes reports whether every number in b is in a.
func (a runs) includes(b runs) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(b) == 0
	}
	for _, r := range b {
		if a.firstMissing(r.lo, r.hi) < r.hi {
			return false
		}
	}
	return true
}

// push appends a run that does not start before the last one.
func (a runs) push(r run) runs {
	if n := len(a); n > 0 && r.lo <= a[n-1].hi {
		a[n-1].hi = max(a[n-1].hi, r.hi)
		return a
	}
	return append(a, r)
}

// union appends to dst the numbers that are in a or b. dst must be empty and share no memory with a
// and b.
func union(dst, a, b runs) runs {
	dst = slices.Grow(dst, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].lo <= b[0].lo {
			dst, a = dst.push(a[0]), a[1:]
		} else {
			dst, b = dst.push(b[0]), b[1:]
		}
	}
	for _, r := range a {
		dst = dst.push(r)
	}
	for _, r := range b {
		dst = dst.push(r)
	}
	return dst
}

// intersection appends to dst the numbers that are in both a and b. dst must be empty and share no
// memory with a and b.
func intersection(dst, a, b runs) runs {
	for len(a) > 0 && len(b) > 0 {
		if lo, hi := max(a[0].lo, b[0].lo), min(a[0].hi, b[0].hi); lo < hi {
			dst = append(dst, run{lo, hi})
		}
		if a[0].hi <= b[0].hi {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return dst
}

// shifted returns the numbers of a, each increased by by, modulo n; 0 < by < n.
func (a runs) shifted(by, n int32) runs {
	var low, high runs // numbers that wrap around, and the others
	for _, r := range a {
		lo, hi := int64(r.lo)+int64(by), int64(r.hi)+int64(by)
		if lo < int64(n) {
			high = high.push(run{int32(lo), int32(min(hi, int64(n)))})
		}
		if hi > int64(n) {
			low = low.push(run{int32(max(lo, int64(n)) - int64(n)), int32(hi - int64(n))})
		}
	}
	for _, r := range high {
		low = low.push(r)
	}
	return low
}
