package network_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/schedgen/schedgen/network"
)

func ExampleParse() {
	n, err := network.Parse(strings.NewReader(`
rank a b c
switch s
link a s 10Gbit
link b s 10Gbit
link c s 1Gbit`))
	if err != nil {
		log.Fatal(err)
	}
	way, err := network.NewRouter(n).Route(nil, 0, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(n.Ranks), "ranks; the way from a to c has", len(way), "links")
	// Output: 3 ranks; the way from a to c has 2 links
}
