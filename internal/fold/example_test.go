package fold_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/schedgen/schedgen/internal/fold"
)

func Example() {
	vector := func(values ...float64) (b []byte) {
		for _, v := range values {
			b = binary.NativeEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	add, size, err := fold.For[float64](fold.Sum)
	if err != nil {
		fmt.Println(err)
		return
	}
	mine, received := vector(1, 2, 3), vector(0.5, 0.25, 0.125)
	add(mine, received, mine) // received is from a lower rank, so it is the left operand
	for ; len(mine) > 0; mine = mine[size:] {
		fmt.Println(math.Float64frombits(binary.NativeEndian.Uint64(mine)))
	}

	_, _, err = fold.For[bool](fold.Sum)
	fmt.Println(err)
	// Output:
	// 1.5
	// 2.25
	// 3.125
	// sum of bool: bool has no sum; use or
}

func ExampleFunc() {
	keep := fold.Func("first that is not empty", false, func(dst, src [][4]byte) {
		for i, s := range src {
			if dst[i] == ([4]byte{}) {
				dst[i] = s
			}
		}
	})
	first, _, err := fold.For[[4]byte](keep)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := []byte("abcd\x00\x00\x00\x00"), []byte("efghijkl")
	first(b, a, b)
	fmt.Printf("%s\n", b)
	// Output:
	// abcdijkl
}
