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
		msg += "; " + e.Suggestion()
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
	all := registry()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	return Algorithm{}, &NameError{Name: name, Near: nearNames(name, all)}
}

// Suggestion asks whether one of the near names was meant; it is "" if there
// are none.
func (e *NameError) Suggestion() string {
	switch len(e.Near) {
	case 0:
		return ""
	case 1, 2:
		return "did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return "did you mean one of " + strings.Join(e.Near, ", ") + "?"
}

// nearNames returns the algorithms that may have been meant by name, in letters
// of any case: the one of that very name, else those with what stands behind its slash, else those of
// which it is a part, such as the collective, else those that few typing errors make of it, or else of
// what stands behind its slash.
func nearNames(name string, all []Algorithm) []string {
	name = strings.ToLower(name)
	for _, near := range []func(name, full string) bool{sameName, sameShort, isPart, mistyped, mistypedShort} {
		var names []string
		for _, a := range all {
			if near(name, a.Name) {
				names = append(names, a.Name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// short returns what stands behind the slash, all of name if it has none.
func short(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func sameName(name, full string) bool { return name == full }

func sameShort(name, full string) bool { return short(name) == short(full) }

func isPart(name, full string) bool {
	const least = 3 // letters
	return len(name) >= least && strings.Contains(full, name)
}

// mistyped reports whether few typing errors make name of full.
func mistyped(name, full string) bool { return typos(name, full) <= maxTypos }

// mistypedShort reports whether few typing errors make name of what stands behind the slash of full.
func mistypedShort(name, full string) bool {
	return typos(name, short(full)) <= min(maxTypos, len(short(full))/3)
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
