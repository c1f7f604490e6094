package sim

// What is drawn is a function of the seed, of what it is for and of two numbers,
// so that nothing depends on the order in which draws are made: splitmix64
// (Steele, Lea and Flood 2014) of their sum, each times an odd number.

// purpose tells draws of one seed and the same numbers apart.
type purpose uint64

const (
	drawNoise purpose = iota + 1
	drawLoss
	drawArrival
	drawLate
	drawPeer
)

func draw(seed uint64, p purpose, a, b uint64) uint64 {
	x := mix(seed + uint64(p)*0x9e3779b97f4a7c15)
	x = mix(x + a*0xd1342543de82ef95)
	return mix(x + b*0xaf251af3b0f025b5)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// upTo returns a time of 0 … most from a draw.
func upTo(x uint64, most Time) Time { return Time(x % (uint64(most) + 1)) }

// below reports whether a draw is below a probability.
func below(x uint64, p float64) bool { return float64(x>>11) < p*(1<<53) }
