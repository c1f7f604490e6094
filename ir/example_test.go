package ir_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

const pair = `schedule bcast/chain ranks=2 root=0 chunks=1
rank 0
  enter -> put c0 @1
  done enter
rank 1
  done c0
`

func ExampleWriteJSON() {
	s, err := ir.ParseText(strings.NewReader(pair))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ir.WriteJSON(os.Stdout, s); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"format":"schedgen/1","collective":"bcast","algorithm":"chain","ranks":2,"root":0,"chunks":1,
	// "params":{},
	// "programs":[
	// {"rank":0,"signals":0,"rules":[
	//  {"when":["enter"],"do":[{"op":"put","slot":"c0","to":1}]}],"done":["enter"]},
	// {"rank":1,"signals":0,"rules":[],"done":["c0"]}]}
}

func ExampleParseText() {
	_, err := ir.ParseText(strings.NewReader(strings.Replace(pair, "@1", "@2", 1)))
	fmt.Println(err)
	// Output: line 3, column 20: rank 2 is out of range 0 … 1
}

func ExampleParseJSON() {
	const document = `{"format":"schedgen/1","collective":"bcast","algorithm":"chain",
		"ranks":4611686018427387904}`
	_, err := ir.ParseJSON(strings.NewReader(document))
	fmt.Println(err)
	// Output: line 2, column 11 (byte 75): ranks: 4611686018427387904 is out of range 1 … 1048576
}

func ExampleChunkBounds() {
	for k := range 3 {
		fmt.Println(ir.ChunkBounds(10, 3, k))
	}
	// Output:
	// 0 3
	// 3 6
	// 6 10
}
