package papers

// SCI is the cost of flags in the memory of other nodes according to paper 003 (section 4). Times
// are in ns.
type SCI struct {
	Write float64 // of a flag: how long a write stalls the writer
	Check float64 // store barrier and sequence check, after flags that are written together
	Read  float64 // of a flag that has come
}

// flags returns how many flags a rank of p sets, and waits for, in the step of the dissemination
// whose distance is a power of n.
func flags(p, n, power int) int { return min(n-1, (p-1)/power) }

// Dissemination returns the time of the n-ary dissemination among p nodes (section 4.2, mode 2). In
// each step a rank writes its flags, checks, and reads as many flags, which the others wrote before
// they checked.
func (s SCI) Dissemination(p, n int) float64 {
	time := 0.0
	for power := 1; power < p; power *= n {
		f := float64(flags(p, n, power))
		time += f*s.Write + s.Check + f*s.Read
	}
	return time
}

// HSB returns the time of the hsb barrier among p nodes until the last returns (section 4.2). A
// node that has read the flags of its children writes one to its parent and checks. When it has
// read its own release, it writes its children's releases and checks.
func (s SCI) HSB(p, fanIn, fanOut int) float64 {
	if p < 2 {
		return 0
	}
	ready := make([]float64, p) // when a node has read all flags of its sub-tree
	for i := p - 1; i >= 0; i-- {
		first := i*fanIn + 1
		for c := first; c < min(first+fanIn, p); c++ {
			ready[i] = max(ready[i], ready[c]+s.Write)
		}
		ready[i] += float64(max(0, min(fanIn, p-first))) * s.Read
	}
	released := make([]float64, p) // when a node has read its release
	released[0] = ready[0]
	latest := 0.0
	for i := range p {
		first := i*fanOut + 1
		k := max(0, min(fanOut, p-first))
		returns := released[i]
		if k > 0 {
			returns += float64(k)*s.Write + s.Check
		}
		latest = max(latest, returns)
		for j := range k {
			c := first + j
			seen := max(released[i]+float64(j+1)*s.Write, ready[c]+s.Write+s.Check)
			released[c] = seen + s.Read
		}
	}
	return latest
}
