package simnet

// random is splitmix64: small, seeded, and the same in every version of Go.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// seeded returns a generator for one purpose of a seed.
func seeded(seed uint64, purpose ...uint64) random {
	h := mix(seed + 0x9e3779b97f4a7c15)
	for _, p := range purpose {
		h = mix(h ^ mix(p+0x9e3779b97f4a7c15))
	}
	return random(h)
}

// below returns a number in [0, n). n must be positive.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// upTo returns a time in [0, most].
func (r *random) upTo(most Time) Time { return Time(r.next() % uint64(most+1)) }

// chance is true n times in a thousand.
func (r *random) chance(n int) bool { return n > 0 && r.below(1000) < n }

// fill fills b with random bytes.
func (r *random) fill(b []byte) {
	for len(b) >= 8 {
		x := r.next()
		for i := range 8 {
			b[i] = byte(x >> (8 * i))
		}
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(r.next())
	}
}

// pick returns one of its arguments.
func pick[T any](r *random, of ...T) T { return of[r.below(len(of))] }
