// Package loggp says how long a schedule takes in the LogGP model of Alexandrov,
// Ionescu, Schauser and Scheiman (1995), by running it: every rank enters at time
// 0, nothing is lost, and events happen in one total order, so that equal
// schedules give equal times on every machine.
//
// A rank has one CPU and one network interface. Of a message of s bytes
//
//   - the sender's CPU takes o, and its interface sends nothing else for
//     g + (s-1)·G;
//   - the first byte arrives o + L after the send began;
//   - the receiver's CPU takes o + (s-1)·G, and its interface receives nothing
//     else for g + (s-1)·G.
//
// A message that finds CPU or interface taken waits. What a rank may begin at the
// same moment it begins in the order in which it came about. The sends of a rule
// come about when the last slot that it waits for begins to be received and find
// the CPU taken until that has ended. This is what the simulator LogGOPSim does
// with messages that need no rendezvous, and the tests hold its figures.
//
// Three things are ours. A multicast, which LogGP does not have, is one send at
// its sender, and every other rank receives it as if it had been sent to that
// rank alone. A second copy of a slot is received like the first and changes
// nothing. Repairs and what waits for them do not run, as nothing is lost.
package loggp
