// Package loss repairs what multicasts lose: it says which chunks are missing, whom to ask for them
// and when, and what to give to ranks that ask. Its parts are state machines without a clock and
// without a network: a core tells them the time and what arrives, and sends their answers.
//
// Repairs of a schedule put the whole message, since a schedule only knows that an acknowledgement
// is overdue. Ranks know more. A rank that hears a multicast sees which chunks are missing, and
// asks a rank that has them. That rank sends only these chunks, and suspends the schedule's repair
// while it is asked. So the loss of a chunk costs a chunk. A rank that hears nothing asks once, and
// is repaired by the schedule.
//
//   - [Recovery] is what a rank knows over all operations: how long answers take, which operations
//     expect losses, and which signals are sent twice.
//   - [Losses] is what it knows of one operation: what has arrived, what it has asked for, what it
//     owes to others, and which repairs of the schedule are due.
//   - [Fragments] are the datagrams of an operation's chunks.
//   - [EndShows] says which chunks without bytes a rank has if another rank has ended.
//
// A step of a Recovery may leave [Output] values, which the core takes with [Recovery.Outputs] and
// sends, in order.
package loss
