package otel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/otel"
)

// A program takes the tracer of its provider; this one records nothing.
func ExampleNew() {
	ctx := context.Background()
	spans, err := otel.New(otel.Options{Tracer: noop.NewTracerProvider().Tracer("schedgen"), Job: "4711"})
	if err != nil {
		log.Fatal(err)
	}
	ts, err := mem.New(1, mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	comm, err := runtime.Join(ctx, runtime.Config{Transport: ts[0], Observe: runtime.Observe{Trace: spans.Event}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(comm.Barrier(ctx), comm.Close())
	// Output: <nil> <nil>
}
