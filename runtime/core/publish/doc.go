// Package publish is one rank's end of rootless messages: any rank publishes messages at any time,
// and all other ranks get them, each origin's in its order.
//
// Messages travel in one of two ways. They go from rank to rank along the trees of an overlay
// (paper 001), or the origin multicasts them and acknowledgements climb its binomial tree (paper
// 002). [New] makes an end of either kind, and [Messages] is what both do.
//
// An end is a state machine: calls of the process, frames of other ranks and the time go in, and
// frames leave by the [Host]. It starts no goroutine, reads no clock and opens no connection.
package publish
