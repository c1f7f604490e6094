package emit_test

import (
	"fmt"
	"os"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/schedule"
)

func ExampleRounds() {
	spec, err := schedule.New("bcast/binomial", schedule.Params{Ranks: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := emit.Rounds(os.Stdout, spec.Schedule(), emit.RoundsOptions{Width: 60}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// bcast/binomial
	// 4 ranks, root 0, 1 chunk · 2 rounds, 3 puts
	//
	// round   0        1        2        3
	//     1   ●── c0 ─▶├───────▶│        │
	//     2   │        │        ●── c0 ─▶│
	//         │        │        │        │
	// return  1        1        2        2
	//
	// return: the round after which a rank's call returns
}

func ExampleWrite() {
	spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := emit.Write(os.Stdout, "json", spec.Schedule(), emit.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"format":"schedgen/1","collective":"bcast","algorithm":"linear","ranks":2,"root":0,"chunks":1,
	// "params":{},
	// "programs":[
	// {"rank":0,"signals":0,"rules":[
	//  {"when":["enter"],"do":[{"op":"put","slot":"c0","to":1}]}],"done":["enter"]},
	// {"rank":1,"signals":0,"rules":[],"done":["c0"]}]}
}
