// Package msccl reads the XML form of collective algorithms that MSCCL and its descendants run on
// GPUs. Each GPU has thread blocks, and each thread block does its steps one after the other.
//
//	<algo name ngpus nchunksperloop [coll proto nchannels inplace outofplace minBytes maxBytes redop nthreads maxcount nthreadblocks]>
//	 <gpu id i_chunks o_chunks s_chunks>
//	  <copy i_off o_off/>
//	  <tb id send recv chan>
//	   <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
//
// Steps move chunks between the buffers i (input), o (output) and s (scratch). The types re, rrc,
// rrs and rrcs fold: re folds the source onto the destination, and the others fold the source with
// the received chunks. The form does not say which operand is on the left.
//
// A copy, which TACCL writes, moves a chunk from the input to the output before all blocks begin. A
// file without the attribute coll does not say what it does.
//
// A step may wait for one step of another block of its GPU. It then waits for step deps of block
// depid. It waits for none if depid is -1. GPUs come in the order of their ids. A block sends to at
// most one peer and receives from at most one. Messages between two GPUs arrive in order on each
// channel.
package msccl
