// Package chakra reads and writes execution traces of MLCommons Chakra, the input of the simulator
// ASTRA-sim. There is one trace for each rank, in a file of its own. ASTRA-sim expects the trace of
// rank R in the file PREFIX.R.et.
//
// A trace is a stream of protobuf messages, each behind its length as a varint. The first message
// is a GlobalMetadata, and all others are Nodes. This package uses these fields:
//
//	GlobalMetadata: version = 1, repeated attr = 2
//	Node:           id = 1, name = 2, type = 3, repeated ctrl_deps = 4, repeated data_deps = 5,
//	                duration_micros = 7, repeated attr = 10
//	AttributeProto: name = 1, and one value: int32 = 7, int64 = 9, uint32 = 11, uint64 = 13,
//	                sint32 = 15, sint64 = 17, fixed32 = 19, fixed64 = 21, sfixed32 = 23,
//	                sfixed64 = 25, bool = 27, string = 29
//
// A node sends (COMM_SEND_NODE), receives (COMM_RECV_NODE) or computes (COMP_NODE). It starts when
// all nodes of its data_deps and ctrl_deps have ended. Attributes say what it does:
//
//	comm_dst     send: the rank to send to
//	comm_src     receive: the rank to receive from
//	comm_size    send, receive: bytes
//	comm_tag     send, receive: a send matches a receive with the same tag
//	tensor_size  compute: bytes that it works on
//	num_ops      compute: operations
//	is_cpu_op    the node runs on the CPU, not on the GPU
//
// Chakra has no word for the length of a block, such as the message of a broadcast. This package
// writes it as the attribute block_size of the metadata, which other programs ignore, and reads it
// from there.
package chakra
