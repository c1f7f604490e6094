package msccl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/msccl"
	"github.com/schedgen/schedgen/ir"
)

const twoGPUs = `<algo name="a" coll="broadcast" ngpus="2" nchunksperloop="2" inplace="0">
 <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1">
  <tb id="4" send="1" recv="1" chan="3">
   <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
   <step s="1" type="rrs" srcbuf="i" srcoff="1" dstbuf="o" dstoff="0" cnt="1" depid="7" deps="1" hasdep="0"></step>
  </tb>
  <tb id="7" send="-1" recv="-1" chan="0">
   <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="-1" deps="-1" hasdep="0"/>
   <step s="1" type="re" srcbuf="i" srcoff="1" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
  </tb>
 </gpu>
 <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
  <tb id="0" send="0" recv="0" chan="3">
   <step s="0" type="rcs" srcbuf="o" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
  </tb>
 </gpu>
</algo>
`

func TestParse(t *testing.T) {
	g, err := msccl.Parse(strings.NewReader(twoGPUs))
	require.NoError(t, err)
	require.Equal(t, [][]dag.Op{
		{
			{Kind: dag.Send, Peer: 1, Tag: 3, Size: 2, Name: "tb 4 step 0", Line: 4, Move: dag.Move{Read: dag.Span{From: 2, Len: 2}}},
			{Kind: dag.Recv, Peer: 1, Tag: 3, Size: 1, Name: "tb 4 step 1", Line: 5, After: []int32{0, 4}, Move: dag.Move{Read: dag.Span{From: 3, Len: 1}, Mix: true}},
			{Kind: dag.Send, Peer: 1, Tag: 3, Size: 1, Name: "tb 4 step 1", Line: 5, After: []int32{1}, Move: dag.Move{Mix: true}},
			{Name: "tb 7 step 0", Line: 8},
			{Name: "tb 7 step 1", Line: 9, After: []int32{3}, Move: dag.Move{Read: dag.Span{From: 3, Len: 1}, Write: dag.Span{From: 4, Len: 1}, Mix: true}},
		},
		{
			{Kind: dag.Recv, Peer: 0, Tag: 3, Size: 1, Name: "tb 0 step 0", Line: 14, Move: dag.Move{Write: dag.Span{From: 1, Len: 1}}},
			{Kind: dag.Send, Peer: 0, Tag: 3, Size: 1, Name: "tb 0 step 0", Line: 14, After: []int32{0}, Move: dag.Move{Read: dag.Span{From: 1, Len: 1}}},
		},
	}, g.Ranks)
	require.Equal(t, "o[1]", g.Cells.Spell(0, 1))
	require.Equal(t, "i[1]", g.Cells.Spell(0, 3))
	require.Equal(t, "s[0]", g.Cells.Spell(0, 4))
}

func TestInPlaceTheBuffersAreOne(t *testing.T) {
	g, err := msccl.Parse(strings.NewReader(strings.Replace(twoGPUs, `inplace="0"`, `inplace="1"`, 1)))
	require.NoError(t, err)
	require.Equal(t, dag.Span{From: 0, Len: 2}, g.Cells.Input[0])
	require.Equal(t, dag.Span{From: 0, Len: 2}, g.Cells.Result[0])
	require.Equal(t, "s[0]", g.Cells.Spell(0, 2))
	require.Equal(t, 2, g.Ranks[0][4].Write.From)
}

func TestEveryPrefixIsRefused(t *testing.T) {
	trimmed := strings.TrimRight(twoGPUs, "\n")
	for n := range len(trimmed) {
		_, err := msccl.Parse(strings.NewReader(trimmed[:n]))
		var at *ir.ParseError
		require.ErrorAs(t, err, &at, "%q", trimmed[:n])
	}
}

func TestReaderErrorsAreTold(t *testing.T) {
	_, err := msccl.Parse(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(twoGPUs))))
	require.ErrorContains(t, err, iotest.ErrTimeout.Error())
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../../golden/testdata/foreign/*/*.xml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := msccl.Parse(strings.NewReader(text))
		if err != nil {
			var at *ir.ParseError
			require.ErrorAs(t, err, &at)
			return
		}
		for rank, ops := range g.Ranks {
			cells := g.Cells.Input[rank].Len + g.Cells.Result[rank].Len
			for _, op := range ops {
				require.True(t, op.Kind == dag.Local || op.Peer >= 0 && op.Peer < len(g.Ranks))
				require.LessOrEqual(t, op.Read.From+op.Read.Len, cells+1<<20, "beyond all buffers")
				for _, a := range op.After {
					require.True(t, a >= 0 && int(a) < len(ops))
				}
			}
		}
	})
}
