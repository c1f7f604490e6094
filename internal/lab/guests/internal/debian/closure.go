package debian

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// hosts are libraries that every Debian system has. A guest gets the host's libraries, because its
// programs were linked with them.
var hosts = []string{"libc6", "libgcc-s1", "libcrypt1"}

// follows reports whether a guest needs a dependency of a package: libraries, and the packages
// behind a kernel's meta package. Other dependencies only serve the installation.
func follows(name string) bool {
	for _, prefix := range []string{"lib", "linux-image-", "linux-modules-"} {
		if strings.HasPrefix(name, prefix) {
			return !slices.Contains(hosts, name)
		}
	}
	return false
}

// closure returns the packages called names and the packages that they need in a guest, sorted.
func closure(ctx context.Context, names []string) ([]string, error) {
	args := []string{"depends", "--recurse", "--no-recommends", "--no-suggests",
		"--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"}
	out, err := output(ctx, "", nil, "apt-cache", append(args, names...)...)
	if err != nil {
		return nil, err
	}
	return reachable(dependencies(out), names), nil
}

// dependencies parses the output of apt-cache: a line for each package, followed by a line for each
// of its dependencies. It keeps the first of alternatives, which apt-cache marks by |, and leaves
// out virtual packages, whose names are in <>.
func dependencies(text []byte) map[string][]string {
	all := map[string][]string{}
	var of string
	alternative := false
	for line := range bytes.Lines(text) {
		l := strings.TrimRight(string(line), "\n")
		kind, name, isDependency := strings.Cut(strings.TrimSpace(l), ": ")
		switch {
		case !isDependency && !strings.HasPrefix(l, " "):
			of, alternative = l, false
		case isDependency && strings.HasSuffix(kind, "Depends"):
			if !alternative && !strings.HasPrefix(name, "<") {
				all[of] = append(all[of], name)
			}
			alternative = strings.HasPrefix(kind, "|")
		}
	}
	return all
}

// reachable returns names and all packages that can be reached from them.
func reachable(all map[string][]string, names []string) []string {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, next := range all[name] {
			if follows(next) {
				visit(next)
			}
		}
	}
	for _, name := range names {
		visit(name)
	}
	got := make([]string, 0, len(seen))
	for name := range seen {
		got = append(got, name)
	}
	slices.Sort(got)
	return got
}
