// Package mismatch finds the first operation in which two ranks have called different things, and
// describes both calls in words.
//
// A rank keeps a [History] of its calls. Ranks compare fingerprints: numbers that stand for a call
// and all calls before it ([Following]). A [Dispute] is a mismatch that a rank knows of and has not
// failed by yet, because it waits for the words of the other side. [Encode] writes a rank's message
// to another rank: its own call in words, and its fingerprints of earlier operations.
package mismatch
