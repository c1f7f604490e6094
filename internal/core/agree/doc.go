// Package agree lets the remaining ranks of a communicator agree: on a combination of their votes,
// on which ranks have gone, and on which of them are lost.
//
// [Agreements] is one rank's part. It is a state machine: votes, messages of other ranks and
// [Facts] go in, and messages for other ranks come out ([Agreements.Messages]). It has no clock and
// no network. Whoever drives it repeats messages from time to time ([Agreements.Remind]).
//
// A process asks for agreements one after the other, numbered from 1. Agreement n is ballot 2n-1.
// Ballot 2n follows by itself: a rank votes in it when it knows the outcome of ballot 2n-1, so at
// its end all ranks know that outcome, and a rank may close. Ballot 0 is about losses: when a rank
// is lost, the remaining ranks agree on the list of lost ranks, on how many of their messages have
// come, and on whose answers to open questions are in, so that their calls fail with the same
// error.
package agree
