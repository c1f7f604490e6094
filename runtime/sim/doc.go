// Package sim runs whole communicators on a simulated network: one [core.Core]
// a rank, hosts with links, a switch, reliable lanes, sockets that overflow, and
// processes that compute, pause, come late and die. All of it is one goroutine
// and one queue of events in a total order, so that a [Scenario] always runs the
// same: time, faults and bytes come from its seed alone.
//
// It has two uses. [Run] on a scenario that [Draw] has made from a seed checks
// that a communicator keeps its promises whatever the network does (the checks
// stand in check.go); [Soak] does so for many seeds and [Shrink] makes what
// fails small. And Run on a scenario of one's own predicts when calls return and
// what crosses each link, or shows what ranks do about faults that it states.
//
// Processes drive their cores as runtime.Comm does: they poll when something
// has come while they are inside a call, and a background does so after a while
// if they are not.
//
// What is left out: lanes have a bounded number of bytes under way in place of a
// system's congestion control, and hosts forward between their own ranks without a
// link. A lane's first window, its confirmations on the wire, turns as in
// runtime/tcp, token buckets and cores that all processes share are there where
// a scenario's Net says so.
package sim
