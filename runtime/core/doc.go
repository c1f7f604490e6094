// Package core makes all decisions of one rank of a communicator: it numbers operations, repairs
// and requests lost chunks, limits long multicasts, carries rootless messages, tracks which ranks
// are there, and fails.
//
// The driver steps a [Core]. It tells the core events: a call begins, a frame has arrived, a
// connection has ended, the time is now so. The core answers with frames to send, buffers for
// arriving bodies, calls that are complete, and the time of its next tick. It has no lock,
// goroutine, clock, socket or context. So the same core runs under a real communicator, on a
// simulated network and in an exploration of every order of events.
//
// Each part of a core owns its fields. A part may use the parts above it:
//
//	env         the rank's configuration, and its way out
//	failure     why everything has ended, and which ranks know
//	membership  which ranks have left, which are lost
//	operations  the calls: their numbers, slots and buffers
//	recovery    chunks that multicasts lose
//	rootless    messages that no call waits for
//	surveys     questions that no rank waits for, and their answers
//
// Time enters only with [Core.Tick]. A timer that starts between ticks, such as that of a repair,
// gets its start time at the next tick. The driver ticks a core after each step after which
// [Core.Timed] holds.
//
// For explorations a core can be copied ([Core.Clone]), compared ([Core.AppendState]) and stepped
// without durations ([Core.Alarms]).
package core
