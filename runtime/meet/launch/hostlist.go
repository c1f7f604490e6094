package launch

import (
	"errors"
	"fmt"
	"strings"
)

// firstHost returns the first host of a list in Slurm's format: comma-separated names, with sets of
// numbers in brackets, such as node[01-03,7],login2 or rack[1-2]-n[1-4].
func firstHost(list string) (string, error) {
	var host strings.Builder
	for rest := list; rest != "" && rest[0] != ','; {
		if rest[0] != '[' {
			end := strings.IndexAny(rest, "[],")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return "", fmt.Errorf("%q: ] without [", list)
			}
			host.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		set, after, closed := strings.Cut(rest[1:], "]")
		number := set[:min(len(set), strings.IndexAny(set+",", ",-"))]
		if !closed || number == "" || strings.Trim(number, "0123456789") != "" {
			return "", fmt.Errorf("%q: [%s is no set of numbers in brackets", list, set)
		}
		host.WriteString(number)
		rest = after
	}
	if host.Len() == 0 {
		return "", errors.New("no host")
	}
	return host.String(), nil
}
