package schedule

import (
	"os"
	"testing"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	heavy.Rapid("10")
	os.Exit(m.Run())
}
