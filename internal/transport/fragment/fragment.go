// Package fragment defines the datagrams that carry frames: it encodes and checks parts of a
// frame's body, queues frames that are sent in parts, and keeps parts that arrive before the
// receiver can use them. It does no input or output.
package fragment
