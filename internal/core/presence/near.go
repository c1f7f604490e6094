package presence

// neighbours is the distance up to which every rank may be asked, and gets a goodbye. Beyond it
// only distances that are powers of two count, so that leaving takes few messages among many ranks.
const neighbours = 16

// Near reports whether a rank may ask the rank that is distance further on the circle of ranks. The
// asked rank then says goodbye to it.
func Near(distance int) bool { return distance <= neighbours || distance&(distance-1) == 0 }

// AllNear reports whether each of size ranks says goodbye to all others.
func AllNear(size int) bool { return size <= neighbours+1 }

// Farther returns the next distance after distance that is near.
func Farther(distance int) int {
	if distance < neighbours {
		return distance + 1
	}
	return 2 * distance
}
