// Package ballast makes tests collect garbage less often. Tests of a package import it for this
// effect alone.
//
// Tests allocate much and keep little, so their heap is small, and the collector runs hundreds of
// times a second. Where interrupts and page faults are slow, as in virtual machines, that takes up
// to half of the time of tests. The ballast counts as live memory, so the collector runs after as
// many bytes again have been allocated. A large heap is collected as often as before, unlike with a
// larger GOGC. Nobody touches the ballast, so it needs no physical memory.
//
// There is no ballast under the race detector, whose own memory grows with it.
package ballast
