// Package msccl reads the XML of collective algorithms that MSCCL and its
// descendants run on GPUs: of every GPU thread blocks, and of each of these the
// steps that it does one after the other.
//
//	<algo name coll ngpus nchunksperloop [proto nchannels inplace outofplace minBytes maxBytes redop nthreads]>
//	 <gpu id i_chunks o_chunks s_chunks>
//	  <tb id send recv chan>
//	   <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
//
// A step may wait for one step of another block of its GPU: step deps of block
// depid, where depid is not -1. GPUs come in the order of their ids. A block sends to one peer and receives from one,
// and messages between two GPUs come in order on each channel.
package msccl
