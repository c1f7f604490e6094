package wire

// Blocks returns the number of hosts if ranks lie on them as Params.Hosts of package schedule
// assumes: in contiguous blocks, as even as possible, with rank r on host ⌊r·hosts/ranks⌋.
// Otherwise it returns 0. host is indexed by rank; only the equality of hosts matters.
func Blocks[T comparable](host []T) int {
	hosts := 0
	for r := range host {
		if r == 0 || host[r] != host[r-1] {
			hosts++
		}
	}
	seen := make(map[T]int, hosts)
	for r, h := range host {
		block := r * hosts / len(host)
		if first, known := seen[h]; known && first != block {
			return 0
		}
		seen[h] = block
	}
	if len(seen) != hosts {
		return 0
	}
	return hosts
}
