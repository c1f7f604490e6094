package exact

import (
	"math"
	"unsafe"
)

// lanes is the sum of a block of numbers or products, in eight lanes. The sum of a lane is the sum
// of its parts, unless lost says that something is missing.
type lanes struct {
	parts [4][8]float64 // the sum of the numbers, and each time the sum of the errors of the part before
	lost  [8]float64    // all the bits of the errors of the last part; NaN after infinities, NaN and overflow
	least [4]float64    // the size of the smallest product of two float64, in half as many lanes
}

const (
	// laneBlock is the number of numbers that lanes add up before they are added to a Sum.
	laneBlock = 1 << 13

	// fewestInLanes is the number of numbers from which on lanes are faster than bins.
	fewestInLanes = 128

	// afterLoss is the number of blocks that go to bins after a block that lanes could not add up,
	// since the next blocks are likely to be similar.
	afterLoss = 16

	// tiny is a size from which on a float64 can hold the error of a rounded product.
	tiny = 0x1p-960
)

// inBlocks divides n numbers into blocks for the lanes, and a rest. quick adds up a block in lanes,
// and returns false if it cannot. slow adds numbers to bins.
func inBlocks(n int, quick func(from, to int) bool, slow func(from, to int)) {
	if !fast || n < fewestInLanes {
		slow(0, n)
		return
	}
	done, skip := 0, 0
	for from := 0; n-from >= 8; {
		to := from + min(laneBlock, (n-from)&^7)
		switch {
		case skip > 0:
			skip--
		case quick(from, to):
			if done < from {
				slow(done, from)
			}
			done = to
		default:
			skip = afterLoss
		}
		from = to
	}
	if done < n {
		slow(done, n)
	}
}

// addBlock adds numbers to s by way of lanes. It returns false if the lanes lose something. len(xs)
// is a multiple of 8.
func addBlock[T Float](s *Sum, xs []T) bool {
	var l lanes
	if x := unsafe.Pointer(&xs[0]); unsafe.Sizeof(xs[0]) == 4 {
		addLanes32(&l.parts[0][0], (*float32)(x), len(xs))
	} else {
		addLanes64(&l.parts[0][0], (*float64)(x), len(xs))
	}
	return l.move(s)
}

// addProductBlock adds products to s by way of lanes. It returns false if the lanes lose something.
func addProductBlock[T Float](s *Sum, xs, ys []T) bool {
	var l lanes
	x, y := unsafe.Pointer(&xs[0]), unsafe.Pointer(&ys[0])
	if unsafe.Sizeof(xs[0]) == 4 {
		multiplyLanes32(&l.parts[0][0], (*float32)(x), (*float32)(y), len(xs))
		return l.move(s)
	}
	multiplyLanes64(&l.parts[0][0], (*float64)(x), (*float64)(y), len(xs))
	if l := &l.least; min(l[0], l[1], l[2], l[3]) < tiny && !onlyZeros(xs, ys) {
		return false
	}
	return l.move(s)
}

// onlyZeros reports whether all products below tiny have a factor 0.
func onlyZeros[T Float](xs, ys []T) bool {
	for i, x := range xs {
		if y := ys[i]; math.Abs(float64(x)*float64(y)) < tiny && x != 0 && y != 0 {
			return false
		}
	}
	return true
}

// move adds the lanes to s. It returns false, and adds nothing, if they have lost something.
func (l *lanes) move(s *Sum) bool {
	for _, lost := range l.lost {
		if lost != 0 { // or NaN
			return false
		}
	}
	for k, part := range l.parts {
		for _, x := range part {
			if k == 0 || x != 0 { // the sum of -0 alone is -0
				s.Add(x)
			}
		}
	}
	return true
}
