// Package sim computes how long a schedule takes on a modelled machine. It runs the schedule with
// up to a million ranks, in one goroutine and in virtual time.
//
// [Run] runs one operation. A [Sim] runs the same operation with many seeds. Both take the program
// of a rank when the rank has something to do. The programs come from a *schedule.Spec, from a
// schedule ([Of]), or from a schedule of another program ([OfGraph]). A [Config] has a [Model],
// which gives the costs of messages, and describes what ranks and the network do otherwise. The
// [Result] has the times when each rank calls and returns, counts and, on request, the critical
// path.
//
// The row of the collective ([ir.Collective]) says which chunks a rank has when it enters.
// Config.Bytes is the length of one block, and each block is cut into chunks in the same way. A
// broadcast has one block, its message.
//
// The models are [LogGP], [PLogP], whose parameters depend on a message's length, [Linear], which
// is the model of paper 004, [Links], which has hosts at a switch, and [Network], which has the links
// of a given network. Config.Switch bounds the traffic across the switch in all but Network.
//
// Package sim imports ir, network, and the queue and links below internal/model. It does not depend
// on the source of the programs.
//
// Events have a total order: by time, and at equal times by the order in which they came about. All
// random values are functions of the seed. So equal arguments give equal results on every machine.
//
// # LogGP
//
// A rank has one CPU and one network interface. For a message of s bytes
//
//   - the sender's CPU takes o + (s-1)·O, and its interface sends nothing else for g + (s-1)·G;
//   - the first byte arrives L after the CPU is done with the send;
//   - the receiver's CPU takes o + (s-1)·(O+G), and its interface receives nothing else for g +
//     (s-1)·G.
//
// After the last send of a rule the sender's CPU also takes LogGP.Check (paper 003, section 4). A
// message waits while the CPU or the interface is busy. If a rank may begin several things at the
// same time, it begins them in the order in which they came about. The sends of a rule come about
// when the last slot for which it waits begins to be received. The CPU is then busy until that
// receive has ended.
//
// With O = 0 this is the behaviour of the simulator LogGOPSim for messages that need no rendezvous,
// and the tests check its figures. With O > 0 LogGOPSim differs: there the first byte arrives o + L
// after the send began, before the sender's CPU is done, and the receiver's CPU takes o +
// (s-1)·max(O, G).
//
// # Links and Network
//
// A message crosses the arcs of its route one after another, and an arc sends one message at a time,
// in the order of their arrival. Let the first byte of a message come to an arc at time t, and the
// last one at t + d. If the arc begins to send the message at time b and needs s for all its bytes,
// then the first byte is at the end of the arc at b + delay, and the last one at
//
//	max(b + s, t + d) + delay
//
// So a message takes the time of the slowest arc of its route, and the delays of all. Model Links
// has two arcs, up to the switch and down from it. In model Network a message follows the routes of
// package network. Result.Loads and Result.ArcLoads count the messages that have crossed each arc.
//
// # Messages of several slots
//
// Several slots that are put in one message ([ir.MessageOf]) are one send and one receive of a
// message that is as long as all of them. In LogGP they take one overhead o and one gap g. When the
// message is received, it sets all its slots. Then the rules that are ready fire in the order of
// the program.
//
// # Folds
//
// A fold takes the CPU for Config.Fold times the bytes of all its operands but the first. A copy of
// one operand takes Config.Fold times its bytes. A fold is like work: it begins when its rule is
// ready and the CPU is free, and does not wait for the interface. With a Config.Fold of 0 folds
// take no time. In a schedule of another program a fold has two operands. A contribution or a
// partial result that a rank sends under another name is as long as the chunk to which it belongs.
//
// # Multicasts
//
// A multicast is one send at its sender. Its copies reach all other ranks as if it had been sent to
// each alone, but later by Config.Fanout, which does not depend on the number of copies (paper 000,
// section 1). In models Links and Network one copy crosses each arc of a tree, and nodes multiply it.
// Each rank independently misses it with probability Config.Loss. If Config.Unready is
// set, a rank also misses it if it has not called the operation when the copy comes (section 2.1).
// A put is never lost. If its receiver has not called, the put waits.
//
// A second copy of a slot is received like the first and changes nothing.
//
// # Work
//
// In a schedule of another program a rank may have work of its own, such as a calculation. In every
// model the work takes the CPU. It begins when everything that it waits for has ended and the CPU
// is free. It does not wait for the interface, or for a send that waits for the interface. An
// operation that waits for a send or for work comes about when that begins. The CPU is then busy
// until it has ended.
//
// # Calls, delays, repairs
//
// The CPU of a rank that calls late is busy until then. A rank returns when its Done slots are set
// and everything that its rules have sent is handed over.
//
// Repairs run if Config.Repair gives the base timeout. A repair waits for a multiple of it (paper
// 002, section 3.3.4). It is made at most 64 times, while it is needed. Its waits double, up to 64
// base timeouts, or stay as they are if they are longer. A rank that has not begun all its earlier
// sends postpones the repair, and the wait doubles then, too. So repairs of one rank that are due
// together are made after 1, 2, 4 … times their wait. Package internal/core is more patient. It
// postpones repairs that put chunks until earlier frames have left and then once more, so it makes
// them after 1, 4, 16 … times their wait.
//
// Requests and answers beside the rules (ir.Recovery) are not modelled. Package internal/simnet
// models them, with the core that real ranks run.
package sim
