package papers

import "math/bits"

// Linear is the linear model of paper 004. A transfer of n bytes takes t0 + n·t_d. Transfers that
// one rank starts together overlap their t0 and share its link. Times are in ns. ir.ChunkBounds is
// equation (3), the pieces of a message.
type Linear struct {
	T0 float64 // initial latency of a transfer
	Td float64 // time of each byte
}

// Transfer returns the time of one transfer of n bytes, equation (1).
func (l Linear) Transfer(n int) float64 { return l.T0 + float64(n)*l.Td }

// Broadcast returns the time of a linear broadcast of n bytes to p ranks one after the other,
// equation (2).
func (l Linear) Broadcast(n, p int) float64 { return float64(p) * l.Transfer(n) }

// Scatter returns the time in which the root sends the pieces of n bytes to all ranks, equation
// (4).
func (l Linear) Scatter(n int) float64 { return l.T0 + float64(n)*l.Td }

// Symmetric returns the time of the symmetric broadcast to p ranks, equation (5). A single rank
// gets everything in the first phase, so it returns the time of that phase.
func (l Linear) Symmetric(n, p int) float64 {
	if p == 1 {
		return l.Scatter(n)
	}
	return 2*l.T0 + float64(n)*l.Td*(2-1/float64(p))
}

// SymmetricBusy returns the time of the symmetric broadcast to p ranks if each fragment also takes
// a CPU an overhead o for its send and for its receive. That is equation (5) plus 2·(p-1)·o: a
// destination sends p-1 fragments and receives p, and the CPU does one after the other. Equation
// (5) has no such overhead.
func (l Linear) SymmetricBusy(n, p int, o float64) float64 {
	return l.Symmetric(n, p) + 2*float64(p-1)*o
}

// Tree returns the time of the binomial tree to p ranks: ⌈log2 (p+1)⌉ transfers one after the other
// (section 2).
func (l Linear) Tree(n, p int) float64 {
	return float64(bits.Len(uint(p))) * l.Transfer(n)
}
