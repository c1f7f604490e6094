package schedule

import (
	"slices"
	"strings"
)

// maxTypos is the largest edit distance at which a name is suggested.
const maxTypos = 3

// NameError is the error for an algorithm that does not exist.
type NameError struct {
	Name string   // the unknown name
	Near []string // names that the caller may have meant, in registry order
}

// Error names the algorithm, and suggests similar names.
func (e *NameError) Error() string {
	msg := "schedule: no algorithm " + quote(e.Name)
	if len(e.Near) > 0 {
		msg += "; " + e.Suggestion()
	}
	return msg
}

// quote puts name in quotation marks and cuts it if it is too long to print.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return `"` + name + `"`
}

// find returns the algorithm called name, or a *NameError if there is none.
func find(name string) (Algorithm, error) {
	all := registry()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	return Algorithm{}, &NameError{Name: name, Near: nearNames(name, Algorithms())}
}

// Suggestion asks whether one of the near names was meant. It is "" if there are none.
func (e *NameError) Suggestion() string {
	switch len(e.Near) {
	case 0:
		return ""
	case 1, 2:
		return "did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return "did you mean one of " + strings.Join(e.Near, ", ") + "?"
}

// nearNames returns the algorithms that name may mean, in upper or lower case. The first of these
// rules that finds any decides: the algorithm with this very name; algorithms with the same part
// after the slash; algorithms whose names contain name, such as a collective; algorithms whose
// names a few typing errors turn into name, first in the full name and then in the part after the
// slash.
func nearNames(name string, all []Algorithm) []string {
	name = strings.ToLower(name)
	const leastPart = 3 // letters
	for _, near := range []func(full string) bool{
		func(full string) bool { return name == full },
		func(full string) bool { return short(name) == short(full) },
		func(full string) bool { return len(name) >= leastPart && strings.Contains(full, name) },
		func(full string) bool { return typos(name, full) <= maxTypos },
		func(full string) bool { return typos(name, short(full)) <= min(maxTypos, len(short(full))/3) },
	} {
		var names []string
		for _, a := range all {
			if near(a.Name) {
				names = append(names, a.Name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// short returns the part of name after the slash, or all of name if it has no slash.
func short(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// typos returns the edit distance of a and b. It may return any number above maxTypos if the
// lengths differ by more than that.
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
