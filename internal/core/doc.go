// Package core makes all decisions of one rank of a communicator: it numbers operations, repairs
// and requests lost chunks, limits long multicasts, carries rootless messages, tracks which ranks
// are there, and fails.
//
// The driver steps a [Core]. It tells the core events: a call begins, a frame has arrived, a
// connection has ended, time has passed. The core answers with frames to send, buffers for arriving
// bodies, calls that are complete, and the time of its next tick. It has no lock, goroutine, clock,
// socket or context. So the same core runs under a real communicator, on a simulated network and in
// an exploration of every order of events.
//
// Package core imports ir, runtime/machine, runtime/wire, and packages below internal/core.
// Communicators and transports are above it.
//
// # Parts
//
// Some parts are packages of their own. They know nothing of a core: the core tells them what
// happens, and carries out their answers.
//
//	agree     agreements on votes, and on which ranks are lost
//	flow      how far a sender of long messages goes ahead; whether an operation moves
//	lines     where signals and chunks stand in windows, and which lines are in use
//	loss      what multicasts have lost, whom to ask for it and when
//	mismatch  which ranks have called different things, and what
//	presence  which ranks have left, are lost, are silent, or are late
//	publish   rootless messages, which no call waits for
//
// The other parts own their fields. A part may use the parts above it:
//
//	env         the rank's configuration, and its way out
//	failure     why everything has ended, and which ranks know
//	operations  the calls: their numbers, slots and buffers
//	surveys     questions that no rank waits for, and their answers
//
// Core joins the parts: work that concerns several parts is in methods of Core. Files agreement.go,
// dispute.go, messages.go, watch.go and absent.go join the packages to the rest, and reports.go
// (flow), recovery.go (loss) and lines.go to the operations.
//
// # An arriving frame
//
// Rank 1 forwards a chunk of bcast/chain over TCP. All of this is one goroutine, inside a call:
//
//	socket   reactor.Serve              a descriptor is ready
//	stream   conn.Ready                 reads
//	         Transport.receive          the bytes are a wire.Header and its body
//	         Transport.buffer           asks where the body goes
//	runtime  driver.Body                finds the communicator
//	core     Core.Body                  a sign of life; the lane and kind select the part
//	         operations.buffer          the operation, its fingerprint and the slot are right
//	         op.run                     a part of the caller's buffer
//	stream   Transport.landed           the body is complete
//	runtime  driver.Arrived
//	core     Core.Arrived
//	         operations.arrived         counts the chunk
//	         operations.set
//	machine  Machine.Set                counts down the rules that wait for the slot
//	core     operations.act             does the actions of rules that fire
//	         operations.putJoined       makes a wire.Frame of a put
//	         env.put
//	runtime  members.Put                the rank in the transport, if not all are members
//	stream   Transport.Put              queues the frame
//	         Transport.flushAll         writes it, at the next Poll
//
// Body returns early: with Hold, if the operation has not begun here, and with Drop, if the chunk
// is here already. A frame on LaneControl goes from Core.Body to Core.control, and from
// Core.Arrived to the part that its kind concerns. A datagram comes by Core.Fragment, which takes
// the header, the place and the bytes at once, and goes to operations.datagram:
//
//	core  Core.Fragment
//	      operations.datagram     the kind, the slot and the sender are right
//	      operations.fragment     the bytes are one fragment of the chunk
//	loss  Losses.Hear             how far the multicast has come; chunks passed over are missing
//	flow  Yields.ShouldReport     whether to report what has arrived here
//	      Window.Reached          whether to report how far the multicast has come
//	loss  Recovery.TakePart       counts the fragment; the last one completes its chunk
//	core  operations.set          as above
//
// The requests for missing chunks follow at the next Tick: operations.tickLosses calls
// Recovery.Ask, and operations.sendOutputs sends its outputs.
//
// # Time
//
// Time enters only with [Core.Tick]. A timer that starts between ticks, such as a repair's, gets
// its start time at the next tick. The driver ticks a core after each step after which [Core.Timed]
// holds. Each part keeps its timers, and Core.timers lists them: see alarm.go.
//
// For explorations a core can be stepped without durations ([Core.Alarms]). Package deep copies and
// compares cores: the tag "state" of a field says if the field differs from others. So a field that
// has no tag is part of the state.
package core
