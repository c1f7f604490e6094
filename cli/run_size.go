package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag's value for a number of bytes, which is written with a unit.
type byteSize int64

// units are the units by name. Units with an i are powers of 1024, the others powers of 1000. KB is
// accepted for kB.
var units = map[string]int64{
	"": 1, "B": 1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// UnmarshalText reads "0", "100B", "64KiB" or "2MB".
func (s *byteSize) UnmarshalText(text []byte) error {
	number := strings.TrimRight(string(text), "BKMGik")
	unit, known := units[string(text)[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known || n < 0 {
		return fmt.Errorf("%q is not a size: it must be a whole number and a unit, such as 64KiB (B, kB, MB, GB, KiB, MiB, GiB)", text)
	}
	if n > math.MaxInt64/unit {
		return fmt.Errorf("%q is too large", text)
	}
	*s = byteSize(n * unit)
	return nil
}

// String spells s with the largest binary unit that divides it.
func (s byteSize) String() string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if n := units[unit]; s > 0 && int64(s)%n == 0 {
			return fmt.Sprintf("%d %s", int64(s)/n, unit)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}
