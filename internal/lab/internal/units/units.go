// Package units parses and prints the units of links and messages: bytes, bits a second, shares of
// lost frames, and times of the wire.
package units

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/words"
)

// MaxSize is the largest size of a message, in bytes.
const MaxSize = 1 << 30

// Bytes is a number of bytes that a flag gives, such as 64MiB: from 1 to MaxSize.
type Bytes int

// UnmarshalText reads a size as [words.ParseSize] does, but a size must have a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := words.ParseSize(string(text))
	switch {
	case err != nil:
		return err
	case !strings.HasSuffix(string(text), "B"):
		return fmt.Errorf("%q has no unit: B, KiB, MiB or GiB", text)
	case n < 1 || n > MaxSize:
		return fmt.Errorf("%q: must be 1B … 1GiB", text)
	}
	*b = Bytes(n)
	return nil
}

// Bits is a rate in bits a second that a flag gives, such as 100mbit; 0: unlimited.
type Bits int64

// UnmarshalText reads a rate as ParseRate does.
func (b *Bits) UnmarshalText(text []byte) error {
	n, err := ParseRate(string(text))
	*b = Bits(n)
	return err
}

// PerMille is a share in thousandths that a flag gives, such as 0.5% or 0.005.
type PerMille int

// UnmarshalText reads a share as ParseLoss does.
func (p *PerMille) UnmarshalText(text []byte) error {
	n, err := ParseLoss(string(text))
	*p = PerMille(n)
	return err
}

// Share is a share that a flag gives, such as 1% or 0.01.
type Share float64

// UnmarshalText reads a share.
func (s *Share) UnmarshalText(text []byte) error {
	x, err := parseShare(string(text))
	*s = Share(x)
	return err
}

// Numbers returns the numbers of a list of quantities.
func Numbers[N int | int64, Q Bytes | Bits | PerMille](all []Q) []N {
	var numbers []N
	for _, q := range all {
		numbers = append(numbers, N(q))
	}
	return numbers
}

// Unlimited is the text of rate 0, which means a link without limit.
const Unlimited = "unlimited"

// Rate spells a rate in bits a second: in whole Gbit/s or Mbit/s in the syntax of tc, or Unlimited.
func Rate(r int64) string {
	switch {
	case r == 0:
		return Unlimited
	case r%1e9 == 0:
		return fmt.Sprintf("%dgbit", r/1e9)
	}
	return fmt.Sprintf("%dmbit", r/1e6)
}

// ParseRate parses a rate as Rate spells it, and returns bits a second.
func ParseRate(text string) (int64, error) {
	if text == Unlimited {
		return 0, nil
	}
	for unit, bits := range map[string]int64{"mbit": 1e6, "gbit": 1e9} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n < 1 || n > 1e12/bits {
				return 0, fmt.Errorf("%q: must be 1mbit … 1000gbit", text)
			}
			return n * bits, nil
		}
	}
	return 0, fmt.Errorf("%q is no rate, such as 100mbit, 1gbit or %s", text, Unlimited)
}

// CompareRates orders rates. Rate 0 is the fastest, because it means no limit.
func CompareRates(a, b int64) int {
	if (a == 0) != (b == 0) {
		return cmp.Compare(b, a) // the limited one first
	}
	return cmp.Compare(a, b)
}

// Loss spells a number of lost frames per thousand, such as "1 %".
func Loss(perMille int) string {
	return strconv.FormatFloat(float64(perMille)/10, 'f', -1, 64) + " %"
}

// ParseLoss parses a share of lost frames such as "1%", "0.5%" or "0.005", and returns lost frames per
// thousand.
func ParseLoss(text string) (perMille int, err error) {
	x, err := parseShare(text)
	n := int(math.Round(1000 * x))
	if err == nil && (n > 999 || math.Abs(1000*x-float64(n)) > 1e-6) {
		err = fmt.Errorf("%q is no loss: must be 0%% … 99.9%%, in tenths", text)
	}
	return n, err
}

// parseShare parses a share such as "1%" or "0.01".
func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("%q is no share: must be 0 … 1 or 0%% … 100%%", text)
	}
	return x, nil
}

// The length of an Ethernet frame as a shaper counts it, and the payload of a datagram in it.
const (
	frameBytes   = 1514
	payloadBytes = 1472
)

// Wire returns the seconds that a link needs for the given bytes in full datagrams without
// schedgen's headers, or 0 if the link is unlimited.
func Wire(bytes int, rate int64) float64 {
	if rate == 0 {
		return 0
	}
	full, rest := bytes/payloadBytes, bytes%payloadBytes
	onLink := full * frameBytes
	if rest > 0 {
		onLink += rest + frameBytes - payloadBytes
	}
	return float64(onLink) * 8 / float64(rate)
}

// Seconds spells a time in seconds with three digits. A time that is not positive is unknown: "-".
func Seconds(s float64) string {
	if s <= 0 {
		return "-"
	}
	digits := 2 - int(math.Floor(math.Log10(s)))
	return fmt.Sprintf("%.*f", max(0, digits), s)
}
