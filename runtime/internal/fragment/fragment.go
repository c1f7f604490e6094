// Package fragment is what datagrams carry of frames: how a part of a frame's body is
// encoded and checked, how frames wait to be sent in parts, and how parts are kept that
// have come before the receiver can use them. It sends and receives nothing itself.
package fragment
