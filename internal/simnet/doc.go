// Package simnet runs whole communicators on a simulated network: one [core.Core] for each rank,
// hosts with links, a switch, reliable lanes, sockets that overflow, and processes that compute,
// pause, start late and die. A run is one goroutine with one queue of events in a total order, so a
// [Scenario] always runs the same: times, faults and bytes depend on its seed alone.
//
// The package has two uses. [Run], on a scenario that [Draw] has drawn from a seed, checks that a
// communicator keeps its promises whatever the network does (check.go has the checks). [Soak] does
// so for many seeds, and [Shrink] reduces a failing scenario. Run on a hand-written scenario
// predicts when calls return and what crosses each link, or shows how ranks react to given faults.
//
// Processes drive their cores as runtime.Comm does: inside a call they poll when something has
// arrived, and outside calls a background goroutine polls after a while.
//
// The simulation simplifies two things: a lane has a bounded number of bytes under way instead of a
// system's congestion control, and ranks on one host exchange packets without a link. The fields of
// the scenario's Net add further detail where needed: a lane's first window, confirmations on the
// wire, turns as in runtime/tcp, token buckets, and cores that all processes share.
package simnet
