package sim

// A random value is a function of the seed, of its purpose and of two numbers. So nothing depends
// on the order of draws. The function adds them one after the other, each times an odd number
// except the seed, and mixes the bits after each as splitmix64 does (Steele, Lea and Flood 2014).

// purpose distinguishes draws with the same seed and numbers.
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

// upTo returns a time in 0 … most from a draw.
func upTo(x uint64, most Time) Time { return Time(x % (uint64(most) + 1)) }

// below reports whether a draw is below a probability.
func below(x uint64, p float64) bool { return float64(x>>11) < p*(1<<53) }
