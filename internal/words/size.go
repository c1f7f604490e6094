package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the units of sizes by name. Units with an i are powers of 1024, the others powers of
// 1000. KB is accepted for kB.
var units = map[string]int64{
	"": 1, "B": 1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// ParseSize reads a number of bytes, such as "0", "100B", "64KiB" or "2MB".
func ParseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGik")
	unit, known := units[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known || n < 0 {
		return 0, fmt.Errorf("%q is not a size: it must be a whole number and a unit, such as 64KiB (B, kB, MB, GB, KiB, MiB, GiB)", text)
	}
	if n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return n * unit, nil
}

// Size spells a number of bytes exactly, with the largest binary unit that divides it.
func Size(n int64) string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := units[unit]; n > 0 && n%size == 0 {
			return fmt.Sprintf("%d %s", n/size, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
