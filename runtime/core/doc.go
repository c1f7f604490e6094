// Package core is all that one rank of a communicator decides: operations and
// their numbers, repairs and requests, the window of a long multicast, rootless
// messages, who is there, and failure.
//
// A [Core] is stepped. What happens is told to it: a call begins, a frame has
// come, a connection has ended, it is now so late. It answers with frames to
// send, buffers for what comes, calls that are complete, and when it wants to
// know the time again. It has no lock, goroutine, clock, socket or context, so
// that the same core runs under a real communicator, on a simulated network and
// in an exploration of every order of events.
//
// Its parts own their fields. Those that come later may use those before:
//
//	env         who the rank is, and the way out
//	failure     why everything has ended, and who knows of it
//	membership  who has left, who is lost
//	operations  the calls: their numbers, slots and buffers
//	recovery    what multicasts lose
//	rootless    messages that nobody waits for
//
// Time comes in with [Core.Tick] alone. What starts a clock in between, an
// arrival that arms a repair, say, is stamped at the next tick; whoever drives a
// core ticks it after each step for which [Core.Timed] holds.
//
// For explorations a core can be copied ([Core.Clone]), compared
// ([Core.AppendState]) and stepped without durations ([Core.Alarms]).
package core
