package emit

import (
	"bufio"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/foreign/msccl"
	"github.com/schedgen/schedgen/ir"
)

// writeMSCCL prints a schedule that consists only of puts and folds of chunks as XML for MSCCL
// (form: package internal/foreign/msccl). Every connection between two ranks has a thread block at
// each of its ends. If everything that a rank receives on one connection goes out on another in the
// same order, one block does both.
//
// The input of a rank is the chunks that it holds at enter, or its contribution. The output is the
// chunks that it wants. Both are in order. Chunks to pass on and partial results are in its scratch
// buffer. The form does not say which operand of a fold is on the left.
func writeMSCCL(w io.Writer, s *ir.Schedule, _ Options) error {
	p, err := newMSCCLPlan(s)
	if err != nil {
		return err
	}
	loop := 0
	for rank := range s.Ranks {
		held, wanted := s.Held(rank), s.Wanted(rank)
		loop = max(loop, held.Len(), wanted.Len(), s.InputChunks())
	}
	buf := bufio.NewWriter(w)
	fmt.Fprintf(buf, `<algo name="%s" proto="Simple" nchannels="1" nchunksperloop="%d" ngpus="%d" coll="%s" `+
		`inplace="0" outofplace="1" minBytes="0" maxBytes="%d">`+"\n", s.Name(), loop, s.Ranks, msccl.Word(s.Collective), int64(1)<<40)
	for rank, list := range p.blocks {
		held, wanted := s.Held(rank), s.Wanted(rank)
		fmt.Fprintf(buf, ` <gpu id="%d" i_chunks="%d" o_chunks="%d" s_chunks="%d">`+"\n", rank, max(held.Len(), s.InputChunks()), wanted.Len(), p.scratch[rank])
		for id, b := range list {
			b.write(buf, id)
		}
		fmt.Fprintln(buf, " </gpu>")
	}
	fmt.Fprintln(buf, "</algo>")
	return buf.Flush()
}

// mscclBlock is a thread block. A peer of -1 means none.
type mscclBlock struct {
	send, recv int
	steps      []mscclStep
}

// mscclPlace is a place in a rank's memory.
type mscclPlace struct {
	buffer string // i, o or s
	at     int
}

// mscclStep moves cnt chunks.
type mscclStep struct {
	kind       string // nop, s, r, rcs, cpy, re, rrc, rrs or rrcs
	src, dst   mscclPlace
	cnt        int
	block, dep int // waits for step dep of this block; a block of -1: waits for none
	awaited    bool
}

func (b *mscclBlock) write(w io.Writer, id int) {
	fmt.Fprintf(w, `  <tb id="%d" send="%d" recv="%d" chan="0">`+"\n", id, b.send, b.recv)
	for i, st := range b.steps {
		awaited := 0
		if st.awaited {
			awaited = 1
		}
		fmt.Fprintf(w, `   <step s="%d" type="%s" srcbuf="%s" srcoff="%d" dstbuf="%s" dstoff="%d" cnt="%d" depid="%d" deps="%d" hasdep="%d"/>`+"\n",
			i, st.kind, st.src.buffer, st.src.at, st.dst.buffer, st.dst.at, st.cnt, st.block, st.dep, awaited)
	}
	fmt.Fprintln(w, "  </tb>")
}
