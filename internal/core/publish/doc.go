// Package publish is one rank's end of rootless messages: any rank publishes messages at any time,
// and all other ranks get them, each origin's in its order.
//
// A rank publishes a message whenever its window has room. It numbers its messages, and no rank waits
// for them. It multicasts a message if the transport can (paper 002, section 3). If not, or if the
// message is too long for the buffers of receivers, the message goes down the origin's tree in an
// overlay by puts, from rank to rank (paper 001).
//
// Acknowledgements climb the same tree. They are cumulative in two ways: one covers a rank and all
// ranks below it, and all messages up to a number. A rank keeps a message until its process has taken
// it and all ranks below have it. An origin sends only what fits into the window of every rank. So
// memory is bounded, every rank can always take a message that comes, and no rank holds messages
// back: the channels of an overlay form cycles, in which ranks that did could block for ever.
//
// A lost multicast leaves no trace. Three things reveal a loss: a later message of the same origin,
// an acknowledgement from below for a message that has not come here, and a question from the rank
// above, whose timeout for the acknowledgement has passed. The question says how many messages exist.
// It does not put them again, because they may be many and only late. A receiver asks the rank above
// for messages that it lacks. Questions, requests and answers are puts, so each is sent once. What
// is put is not lost, so no rank asks for it, and without multicasts no timer runs.
//
// An end is a state machine: calls of the process, frames of other ranks and the time go in, and
// frames leave by the [Host]. It starts no goroutine, reads no clock and opens no connection.
package publish
