package perfetto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/perfetto"
)

// A program writes to a file, which ui.perfetto.dev opens.
func ExampleNew() {
	ctx := context.Background()
	var trace bytes.Buffer
	if err := perfetto.Begin(&trace); err != nil {
		log.Fatal(err)
	}
	w := perfetto.New(&trace, perfetto.Options{Process: 0})
	ts, err := mem.New(1, mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	comm, err := runtime.Join(ctx, runtime.Config{Transport: ts[0], Observe: runtime.Observe{Trace: w.Event}})
	if err != nil {
		log.Fatal(err)
	}
	if err := comm.Barrier(ctx); err != nil {
		log.Fatal(err)
	}
	for _, end := range []func() error{comm.Close, w.Close, func() error { return perfetto.End(&trace) }} {
		if err := end(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("an array of events:", json.Valid(trace.Bytes()))
	// Output: an array of events: true
}
