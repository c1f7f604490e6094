package emit

import (
	"bufio"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
)

// writeMSCCL prints a broadcast that consists of puts alone as XML for MSCCL
// (form: package ir/msccl). Every connection between two ranks has a thread
// block at each of its ends; where all that a rank receives on one connection
// goes out on another in the same order, one block does both.
func writeMSCCL(w io.Writer, s *ir.Schedule, _ Options) error {
	blocks, err := mscclBlocks(s)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	fmt.Fprintf(buf, `<algo name="%s" proto="Simple" nchannels="1" nchunksperloop="%d" ngpus="%d" coll="broadcast" `+
		`inplace="0" outofplace="1" minBytes="0" maxBytes="%d">`+"\n", s.Name(), s.Chunks, s.Ranks, int64(1)<<40)
	for rank, list := range blocks {
		fmt.Fprintf(buf, ` <gpu id="%d" i_chunks="%d" o_chunks="%d" s_chunks="0">`+"\n", rank, s.Chunks, s.Chunks)
		for id, b := range list {
			b.write(buf, id)
		}
		fmt.Fprintln(buf, " </gpu>")
	}
	fmt.Fprintln(buf, "</algo>")
	return buf.Flush()
}

// mscclBlock is a thread block; a peer of -1 is none.
type mscclBlock struct {
	send, recv int
	steps      []mscclStep
}

// mscclStep moves cnt chunks from buffer src to the output, both from chunk on.
type mscclStep struct {
	kind       string // nop, s, r, rcs or cpy
	src        string // buffer, i or o
	chunk, cnt int
	block, dep int // waits for step dep of this block; block -1: for none
	awaited    bool
}

func (b *mscclBlock) write(w io.Writer, id int) {
	fmt.Fprintf(w, `  <tb id="%d" send="%d" recv="%d" chan="0">`+"\n", id, b.send, b.recv)
	for i, st := range b.steps {
		awaited := 0
		if st.awaited {
			awaited = 1
		}
		fmt.Fprintf(w, `   <step s="%d" type="%s" srcbuf="%s" srcoff="%d" dstbuf="o" dstoff="%d" cnt="%d" depid="%d" deps="%d" hasdep="%d"/>`+"\n",
			i, st.kind, st.src, st.chunk, st.chunk, st.cnt, st.block, st.dep, awaited)
	}
	fmt.Fprintln(w, "  </tb>")
}
