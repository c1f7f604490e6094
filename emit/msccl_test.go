package emit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

func mscclOf(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := ir.ParseText(strings.NewReader(text))
	require.NoError(t, err)
	var b bytes.Buffer
	err = Write(&b, "msccl", s, Options{})
	return b.String(), err
}

// TestMSCCLWaitsForTwo checks a chunk that waits for another one too. A step waits for one step, so
// an empty step waits for the other.
func TestMSCCLWaitsForTwo(t *testing.T) {
	text, err := mscclOf(t, `schedule bcast/test ranks=4 root=0 chunks=2
rank 0
  enter -> put c0 @1, put c1 @2
  done enter
rank 1
  c0 -> put c0 @2
  c0 c1 -> put c0 @3, put c1 @3
  done c0 c1
rank 2
  c1 -> put c1 @1
  done c0 c1
rank 3
  done c0 c1
`)
	require.NoError(t, err)
	require.Contains(t, text, ` <gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0">
  <tb id="0" send="2" recv="0" chan="0">
   <step s="0" type="rcs" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
  </tb>
  <tb id="1" send="-1" recv="2" chan="0">
   <step s="0" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="1"/>
  </tb>
  <tb id="2" send="3" recv="-1" chan="0">
   <step s="0" type="nop" srcbuf="o" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="1" deps="0" hasdep="0"/>
   <step s="1" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
   <step s="2" type="nop" srcbuf="o" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="0" deps="0" hasdep="0"/>
   <step s="3" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="1" deps="0" hasdep="0"/>
  </tb>
 </gpu>
`)
}

func TestMSCCLRefusals(t *testing.T) {
	const head = "schedule bcast/test ranks=2 root=0 chunks=1\nrank 0\n"
	const tail = "  done enter\nrank 1\n  done c0\n"
	for reason, text := range map[string]string{
		"it moves no bytes":               "schedule barrier/test ranks=1\nrank 0\n  done enter\n",
		"rank 0 multicasts c0":            head + "  enter -> mcast c0\n" + tail,
		"rank 0 puts the signal s0":       head + "  enter -> put s0 @1\n" + tail,
		"rank 0 has a repair":             head + "  enter unless s0 after 1 -> put c0 @1\n" + tail,
		"rank 1 gets c0 twice":            head + "  enter -> put c0 @1, put c0 @1\n" + tail,
		"rank 0 gets c0 twice":            "schedule bcast/test ranks=2 root=0 chunks=1\nrank 0\n  enter -> put c0 @1\n  done enter\nrank 1\n  c0 -> put c0 @0\n  done c0\n",
		"rank 0 puts c0 before it has it": "schedule bcast/test ranks=3 root=2 chunks=1\nrank 0\n  enter -> put c0 @1\n  done c0\nrank 1\n  done c0\nrank 2\n  enter -> put c0 @0\n  done enter\n",
	} {
		_, err := mscclOf(t, text)
		var unfit *Unfit
		require.ErrorAs(t, err, &unfit, reason)
		require.Contains(t, unfit.Reason, reason)
	}
}

// TestMSCCLDoesNotFuseTwoSources checks that no block does both if the chunks that leave on one
// connection have come on two.
func TestMSCCLDoesNotFuseTwoSources(t *testing.T) {
	text, err := mscclOf(t, `schedule bcast/test ranks=4 root=0 chunks=2
rank 0
  enter -> put c0 @1, put c0 @2, put c1 @2
  done enter
rank 1
  c0 -> put c0 @3
  c1 -> put c1 @3
  done c0 c1
rank 2
  c1 -> put c1 @1
  done c0 c1
rank 3
  done c0 c1
`)
	require.NoError(t, err)
	require.Contains(t, text, `  <tb id="1" send="3" recv="-1" chan="0">
   <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
   <step s="1" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="2" deps="0" hasdep="0"/>
  </tb>
`)
}
