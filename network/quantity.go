package network

import (
	"fmt"
	"math/big"
	"strings"
)

// unit is a unit of a quantity, in the least unit.
type unit struct {
	name string
	of   int64
}

var (
	rateUnits  = []unit{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}
	delayUnits = []unit{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}}
)

// ParseRate reads a rate in bits a second, such as 100Mbit, 1.5Gbit or 300bit.
func ParseRate(s string) (int64, error) {
	switch rate, ok := parseQuantity(s, rateUnits); {
	case !ok:
		return 0, fmt.Errorf("%q is not a rate: it must be a number and a unit, such as 100Mbit (bit, kbit, Mbit, Gbit)", s)
	case rate.Sign() <= 0:
		return 0, fmt.Errorf("%s: a rate must be positive", s)
	case !rate.IsInt() || !rate.Num().IsInt64() || rate.Num().Int64() > MaxRate:
		return 0, fmt.Errorf("%s: a rate must be a whole number of bit/s, at most %s", s, FormatRate(MaxRate))
	default:
		return rate.Num().Int64(), nil
	}
}

// ParseDelay reads a delay in ns, such as 5ms or 0.5us.
func ParseDelay(s string) (int64, error) {
	switch delay, ok := parseQuantity(s, delayUnits); {
	case !ok || delay.Sign() < 0:
		return 0, fmt.Errorf("%q is not a delay: it must be a number and a unit, such as 5ms (ns, us, ms, s)", s)
	case !delay.IsInt() || !delay.Num().IsInt64() || delay.Num().Int64() > MaxDelay:
		return 0, fmt.Errorf("%s: a delay must be a whole number of ns, at most an hour", s)
	default:
		return delay.Num().Int64(), nil
	}
}

// parseQuantity reads a decimal number, which a unit follows. It has no more digits than any
// quantity needs, so that a short text cannot be a huge number.
func parseQuantity(s string, units []unit) (*big.Rat, bool) {
	at := strings.IndexFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
	if at < 1 || at > 32 {
		return nil, false
	}
	for _, u := range units {
		if s[at:] != u.name {
			continue
		}
		r, ok := new(big.Rat).SetString(s[:at])
		if !ok {
			return nil, false
		}
		return r.Mul(r, new(big.Rat).SetInt64(u.of)), true
	}
	return nil, false
}

// FormatRate spells a rate as [ParseRate] reads it.
func FormatRate(rate int64) string { return formatQuantity(rate, rateUnits) }

// FormatDelay spells a delay as [ParseDelay] reads it.
func FormatDelay(delay int64) string { return formatQuantity(delay, delayUnits) }

// formatQuantity uses the largest unit of which there is at least one.
func formatQuantity(q int64, units []unit) string {
	for _, u := range units {
		if q >= u.of {
			number := fmt.Sprintf("%d", q/u.of)
			if rest := q % u.of; rest > 0 {
				digits := len(fmt.Sprint(u.of)) - 1
				number += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
			}
			return number + u.name
		}
	}
	return "0" + units[len(units)-1].name
}
