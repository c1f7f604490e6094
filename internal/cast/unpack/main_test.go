package unpack_test

import (
	"os"
	"testing"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	heavy.Rapid("30") // every draw writes files of megabytes
	os.Exit(m.Run())
}
