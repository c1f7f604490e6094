//go:build !amd64

package exact

const fast = false

func addRows(_, _, _, _ *float64, _, _, _ int) {}
