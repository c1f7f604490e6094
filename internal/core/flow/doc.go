// Package flow decides how far a rank goes ahead of others with a long message, and notices when an
// operation does not move. Its parts are state machines without a clock and without a network: a
// core tells them the time and what arrives, and sends their answers.
//
//   - [Window] keeps the root's multicasts back until receivers have room for them.
//   - [Yields] keeps back puts of chunks that a multicast brings too.
//   - [Peers] holds what a rank knows, over all operations, of the ranks that report to it.
//   - [Pulse] says when an operation last moved.
//
// The schedule says which rank reports to which ([ir.Recovery]). There are two reports: how far the
// multicast has come at a rank and all ranks that report to it ([Window.Take]), and how many chunks
// a rank has ([Peers.Learn]).
package flow
