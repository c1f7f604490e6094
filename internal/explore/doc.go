// Package explore takes the ranks of a small communicator through every order of events: every
// delivery, loss and duplicate of a message, every alarm, and one death or one canceled call at any
// moment. It steps package core itself, as it runs in a real communicator, and not a model of it.
//
// # What is explored
//
// Every rank is a process that makes some calls, one after the other or with several open at once
// (Options.Open), overwrites the buffer of a call after the call has returned, and closes. A state
// consists of the states of all ranks and of the messages under way between them. From each state
// the search tries everything that can happen, one event at a time:
//
//   - A process enters a call, returns from a complete call, or closes.
//   - The first message of a lane arrives, unless the core makes it wait. Lanes lose nothing and
//     keep their order. There are two from each rank to each other rank.
//   - A datagram arrives, in any order, or is lost, or is duplicated. A multicast is one datagram
//     to each rank, and each may be lost by itself.
//   - An alarm of a rank rings.
//   - A rank learns that another rank has closed, even if messages of that rank are still under
//     way.
//   - A rank dies; this happens at most once. What it has sent may still arrive until the receiver
//     notices the death. A rank notices the death only if one of the two has put something to the
//     other: other ranks have no connection that breaks. A put that opens a connection to a dead
//     rank fails like a refused connection. A put to a rank that has closed fails in the same way
//     while the news of the close is under way. If the calls include rootless messages, all ranks
//     are connected, because a rank that waits for a rootless message has no rank to ask.
//   - A process cancels a call; this happens at most once. A process closes after a call has
//     failed, if Options.Quit says so. One rank may make other calls than all others (Options.Odd).
//
// A rank folds a chunk at once, and the body of a frame arrives at once. With Options.Parts, a fold
// of a chunk of several pieces is an event for each piece, and the first piece of a chunk that is
// put may arrive before the others; anything may happen in between. A frame has left its rank as
// soon as it is sent: the search does not find that a rank overwrites what it still sends.
//
// # Time
//
// Durations are left out; see core/alarm.go. Any of the alarms that are set may ring next, whatever
// time it was set to: the clocks of ranks need not agree, and a process may be delayed between two
// steps. The search thus covers more than can happen in reality, and its results hold for every
// choice of timeouts.
//
// An alarm is early if it rings while some message can still arrive or some call can still be made.
// Each early alarm sends more messages, so the number of states would be infinite; Options.Early
// bounds the number of early alarms. When nothing else can happen, alarms ring freely, in every
// order.
//
// # What is checked
//
//   - No call waits forever. From every state, the network is made to deliver again: see fair.go.
//   - No call returns too early: no rank leaves a barrier before all have entered it, the root does
//     not leave an acknowledged broadcast before all ranks have the message, and no receiver
//     returns before it has every byte. Every piece of every message has distinct bytes.
//   - No buffer is written to after its call has returned.
//   - No chunk comes into a contribution that a rank still folds, if the two share memory
//     (Call.InPlace) and the core makes no copy (Call.NoCopy).
//   - No rank puts a chunk to another rank twice.
//   - No rank fails without a fault. After a death, the error of every rank names the rank that
//     died, or a rank that closed because of the death, and no error calls a frame a violation of
//     the protocol. It says how many messages of the dead rank have come to the others. If one rank
//     makes other calls, the errors say so.
//   - A core that waits for an alarm has reported the alarm in Due.
//   - Nothing panics.
//
// # How the search is bounded
//
// A single rank has few states; the whole has many, because they combine. The search therefore
// interns the states of ranks and computes the effect of an event on a rank's state once: it clones
// and steps a core a few hundred times for a million states of the whole. For each state of the
// whole it stores 128 bits in a set and, in a list, how the state was first reached.
//
// A search leaves out the moments at which a message arrives that changes nothing, unless
// Options.Full is set. Such an arrival is taken before all other events. A slot that is put again
// while the same slot still waits in its lane, as by a repair, is not added to the lane a second
// time. The search does not assume that the message would change nothing later either, since a
// faulty core may take it for another message. It records each message that it has left out, and at
// its end tries it in every state that the receiver can reach from there. If the message changes
// something in one of them, the search is repeated without leaving out that message
// (Report.Searches). See reduce.go.
package explore
