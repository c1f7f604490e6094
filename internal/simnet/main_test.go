package simnet

import (
	"os"
	"testing"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	heavy.Rapid("40")
	os.Exit(m.Run())
}
