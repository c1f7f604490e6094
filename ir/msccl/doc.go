// Package msccl reads the XML of collective algorithms that MSCCL and its
// descendants run on GPUs: of every GPU thread blocks, and of each of these the
// steps that it does one after the other.
//
//	<algo name coll ngpus nchunksperloop [proto nchannels inplace outofplace minBytes maxBytes redop nthreads maxcount nthreadblocks]>
//	 <gpu id i_chunks o_chunks s_chunks>
//	  <tb id send recv chan>
//	   <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
//
// The steps move chunks between the buffers i, o and s, the input, the output and scratch memory. In
// their types r, but for a first one, and re fold: re folds the source onto the destination, and rrc,
// rrs and rrcs fold the source with what is received. Which operand is on the left the form does not
// say.
//
// A step may wait for one step of another block of its GPU: step deps of block
// depid, where depid is not -1. GPUs come in the order of their ids. A block sends to one peer and receives from one,
// and messages between two GPUs come in order on each channel.
package msccl
