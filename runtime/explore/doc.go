// Package explore takes the ranks of a small communicator through every order of
// events: every delivery, loss and duplicate, every alarm, and one death or one
// call given up anywhere. What it steps is package core as it runs in a real
// communicator, not a model of it.
//
// # What is explored
//
// Every rank is a process that makes some calls, one after the other or with
// several open at once (Options.Open), writes over the buffer of a call when that has
// returned, and closes. A state is that of all ranks
// and of what is under way between them. From each state everything that can
// happen does, one event at a time:
//
//   - a process enters a call, returns from one that is complete, or closes;
//   - the head of a lane arrives, unless the core has it wait. Lanes lose nothing
//     and keep their order: one from each rank to each other, twice;
//   - a datagram arrives, in any order, or is lost, or is doubled. A multicast is
//     a datagram to each rank, lost by each for itself;
//   - an alarm of a rank rings;
//   - a rank hears that another has closed, whatever is still under way from it;
//   - a rank dies, once. What it has sent may arrive, up to the moment at which its
//     receiver notices. Only those ranks notice that have put something to it or
//     have had something put by it: for others no connection breaks. A
//     put that opens a connection to a dead rank fails as a refused one does, and
//     so does one to a rank that has closed and whose goodbye is on its way.
//     If there are rootless messages among the calls, all ranks are connected:
//     who waits for one has nobody to ask;
//   - a process gives a call up, once, and closes when a call has failed, if
//     Options say so. One rank may make other calls than all others.
//
// The body of a frame arrives all at once, and a frame has left its rank as soon
// as it is sent.
//
// # Time
//
// Durations are left out; see core/alarm.go. Of the alarms that are set any may
// be the next to ring, whatever it was set to: clocks of ranks need not agree
// and a process may be delayed between two steps. That is more than can happen,
// and so what holds here holds for every choice of timeouts.
//
// An alarm that rings while something is still to arrive or to be called is one
// that has come too early. Each sends more, so that there would be no end of
// states: Options.Early bounds how many there are. When nothing else can happen
// alarms ring freely, in every order.
//
// # What is checked
//
//   - No call waits for ever. From every state met the network is made to deliver
//     again: see fair.go.
//   - No call returns too early: a barrier before all have entered, an acknowledged
//     broadcast at its root before all have the message, a receiver before it
//     has every byte. Every piece of every message has bytes of its own.
//   - No buffer is written to after its call has returned.
//   - No rank fails while all are well. After a death the error of every rank names
//     the one that has died, or one that has closed because of it, and calls
//     nobody's frame a violation. If one rank makes other calls, errors say so.
//   - A core that waits for an alarm has said so by Due.
//   - Nothing panics.
//
// # How it is bounded
//
// States of ranks are few; those of the whole are what they combine to. So states
// of ranks are interned and what an event does to one is worked out once: a core
// is cloned and stepped some hundred times for a million states of the whole. Of
// those a set keeps 128 bits each, and a list how each was met first.
//
// A search leaves something out unless Options.Full says otherwise: the moments at which
// a message arrives that changes nothing. Such an arrival is taken away before all else, and
// a slot that is put again while the same waits in its lane, as by a repair whose receiver has
// not come so far, is not put a second time. That the message would change nothing later
// either is not taken for granted, since a core that is wrong may take it for another one. The
// search notes each message that it has left out, and at its end tries it in every state that the
// receiver can come to from there. If it changes something in one of them, the search is made
// again without leaving out that message (Report.Searches). See reduce.go.
package explore
