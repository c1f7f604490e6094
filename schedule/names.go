package schedule

import (
	"slices"
	"strings"
)

// maxTypos is how many letters a name may be off to be suggested.
const maxTypos = 3

// NameError is the error for an algorithm that does not exist.
type NameError struct {
	Name string
	Near []string // names that may have been meant, in registry order
}

func (e *NameError) Error() string {
	msg := "schedule: no algorithm " + quote(e.Name)
	if len(e.Near) > 0 {
		msg += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return msg
}

// quote puts name in quotation marks and cuts it where it is too long to print.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return `"` + name + `"`
}

// find returns the algorithm called name, a *NameError if there is none.
func find(name string) (Algorithm, error) {
	all := Algorithms()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	err := &NameError{Name: name}
	for _, a := range all {
		if near(name, a.Name) {
			err.Near = append(err.Near, a.Name)
		}
	}
	return Algorithm{}, err
}

// near reports whether full may have been meant by name: the part behind the
// slash alone, or either with few typing errors.
func near(name, full string) bool {
	_, short, _ := strings.Cut(full, "/")
	return typos(name, short) <= min(maxTypos, len(short)/3) || typos(name, full) <= maxTypos
}

// typos returns the edit distance of a and b, or a larger number than maxTypos
// where their lengths alone say so.
func typos(a, b string) int {
	if d := len(a) - len(b); d > maxTypos || d < -maxTypos {
		return maxTypos + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
