//go:build !amd64

package exact

const fast = false

func addRows64(*float64, *uint8, *float64, int, int, int, float64) {}
func addRows32(*float32, *uint8, *float32, int, int, int, float64) {}
func addLanes64(*float64, *float64, int)                           {}
func addLanes32(*float64, *float32, int)                           {}
func multiplyLanes64(_, _, _ *float64, _ int)                      {}
func multiplyLanes32(_ *float64, _, _ *float32, _ int)             {}
