package status_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/status"
)

// A program gives the handler to its HTTP server: http.Handle("/", h).
func ExampleHandler() {
	ctx := context.Background()
	ts, err := mem.New(1, mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	comm, err := runtime.Join(ctx, runtime.Config{Transport: ts[0]})
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	h := status.Handler(status.Of(comm))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 text/plain; version=0.0.4; charset=utf-8
}
