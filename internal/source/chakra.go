package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// TraceName returns the name of the trace of a rank. The names of a set of traces have a common
// prefix.
func TraceName(prefix string, rank int) string { return fmt.Sprintf("%s.%d.et", prefix, rank) }

// TracePrefix returns the prefix of the set of traces that a name stands for: the name of any of
// the traces, or the prefix with or without .et.
func TracePrefix(name string) string {
	if prefix, _, ok := CutTrace(name); ok {
		return prefix
	}
	return strings.TrimSuffix(name, ".et")
}

// CutTrace cuts the name of a trace into prefix and rank.
func CutTrace(name string) (prefix string, rank int, ok bool) {
	stem, ok := strings.CutSuffix(name, ".et")
	dot := strings.LastIndexByte(stem, '.')
	if !ok || dot < 0 {
		return "", 0, false
	}
	rank, err := strconv.Atoi(stem[dot+1:])
	return stem[:dot], rank, err == nil && rank >= 0 && strconv.Itoa(rank) == stem[dot+1:]
}

// isTracePrefix reports whether a name is the prefix of a set with a trace of rank 0.
func isTracePrefix(name string) bool {
	_, _, isTrace := CutTrace(name)
	return !isTrace && exists(TraceName(TracePrefix(name), 0))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// readTraces reads the set of traces that a prefix or any of its files names.
func readTraces(name string) (*dag.Graph, error) {
	if name == "-" {
		return nil, errors.New("a set of traces has a file for each rank: name one of them")
	}
	prefix := TracePrefix(name)
	ranks, err := countTraces(prefix)
	if err != nil {
		return nil, err
	}
	return chakra.Parse(ranks, func(rank int) (io.ReadCloser, error) { return os.Open(TraceName(prefix, rank)) })
}

// countTraces returns the number of traces with a prefix. The traces of all ranks up to the highest
// must be there.
func countTraces(prefix string) (int, error) {
	files, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return 0, err
	}
	there, last := make(map[int]bool), -1
	for _, f := range files {
		if stem, rank, ok := CutTrace(f.Name()); ok && stem == filepath.Base(prefix) {
			there[rank], last = true, max(last, rank)
		}
	}
	if last < 0 {
		return 0, fmt.Errorf("the name must end with .R.et, where R is the rank, such as %s", filepath.Base(TraceName(prefix, 0)))
	}
	for rank := range last {
		if !there[rank] {
			return 0, fmt.Errorf("%s is missing: %s is there", TraceName(prefix, rank), TraceName(prefix, last))
		}
	}
	return last + 1, nil
}
