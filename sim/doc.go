// Package sim says how long a schedule takes on a modelled machine, by running it
// there: up to a million ranks, in one goroutine and in virtual time.
//
// [Run] runs one operation, and a [Sim] the same one with many seeds. Both take the
// programs of a rank when it has something to do, from a *schedule.Spec, from [Of]
// a schedule or from [OfGraph] of one of other programs, and a [Config], which says by its [Model] what messages take and beside
// it what ranks and network do otherwise. The [Result] has when each rank calls and
// returns, what has happened and, where it is asked for, the critical path.
//
// The row of the collective ([ir.Collective]) says which chunks a rank has when it enters.
// Config.Bytes is the length of one block, and each block is cut into chunks in the same way.
// A broadcast has one block, its message.
//
// Models are [LogGP], [PLogP], whose parameters depend on a message's length, [Linear],
// which is that of paper 004, and [Links], hosts at a switch. Config.Switch bounds what crosses the switch in any of them.
//
// Events happen in one total order, that of their times and, of what happens at the
// same time, that in which it came about. All that is drawn is a function of the seed.
// So equal arguments give equal results on every machine.
//
// # LogGP
//
// A rank has one CPU and one network interface. Of a message of s bytes
//
//   - the sender's CPU takes o + (s-1)·O, and its interface sends nothing else for
//     g + (s-1)·G;
//   - the first byte arrives L after the CPU is done with the send;
//   - the receiver's CPU takes o + (s-1)·(O+G), and its interface receives nothing
//     else for g + (s-1)·G.
//
// After the last send of a rule the sender's CPU takes LogGP.Check besides (paper
// 003, section 4). A message that finds CPU or interface taken waits. What a rank may begin at the
// same moment it begins in the order in which it came about. The sends of a rule
// come about when the last slot that it waits for begins to be received and find
// the CPU taken until that has ended.
//
// With O = 0 this is what the simulator LogGOPSim does with messages that need no
// rendezvous, and the tests hold its figures. With O > 0 LogGOPSim differs: there the
// first byte arrives o + L after the send began, before the sender's CPU is done, and
// the receiver's CPU takes o + (s-1)·max(O, G).
//
// # Messages of several slots
//
// Several slots that are put in one message ([ir.MessageOf]) are one send and one receipt of a
// message that is as long as all of them. In LogGP they take one overhead o and one gap g. When the
// message is received it sets all its slots, and then fires the rules that are ready, in the
// order of the program.
//
// # Folds
//
// A fold takes the CPU for Config.Fold times the bytes of all its operands but the first, and a copy
// of one operand for its bytes. It is like work: it begins when its rule is ready and the CPU is
// free, and waits for no interface. With Config.Fold 0 folds take no time. What a rank sends under
// another name, a contribution or a partial result, is as long as the chunk that it goes into.
//
// # Multicasts
//
// A multicast is one send at its sender. Its copies come to all other ranks as if
// it had been sent to each alone, later by Config.Fanout, which does not depend on
// how many there are (paper 000, section 1). A rank misses it with the probability
// Config.Loss, each for itself, and, if Config.Unready is set, if it has not called
// the operation when the copy comes (section 2.1). What is put is never lost: if its
// receiver has not called, it waits.
//
// A second copy of a slot is received like the first and changes nothing.
//
// # Work
//
// In a schedule of another program a rank may have work of its own, such as a calculation.
// It takes the CPU, in every model, from when all has ended that it waits for and the CPU
// is free. It does not wait for the interface, nor for a send that does. What waits for a
// send or for work comes about when that begins, and finds the CPU taken until it has
// ended.
//
// # Calls, delays, repairs
//
// A rank that calls late is one whose CPU is taken until then. It returns when its
// done slots are set and all that its rules have asked for is handed over.
//
// Repairs run if Config.Repair gives the base timeout, of which they wait for a
// multiple (paper 002, section 3.3.4). Each is made again with waits that grow to
// twice as long, up to 64 base timeouts, while it is needed, and at most 64 times. What
// ranks ask each other for beside the rules (ir.Recovery) is not modelled: package
// runtime/sim does that, with the core that real ranks run.
package sim
