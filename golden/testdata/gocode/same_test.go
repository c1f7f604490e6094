// Package twins holds generated code against the schedules that it was made from: every rank must
// have the same program. The test of generated code adds the lists of twins.
package twins

import (
	"embed"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

//go:embed *.txt
var texts embed.FS

func TestSamePrograms(t *testing.T) {
	for _, tw := range played {
		require.NoError(t, tw.same(), tw.name)
	}
	t.Logf("%d twins", len(played))
}

// twin is generated code and the name of the file with its schedule.
type twin struct {
	name      string
	generated *machine.Schedule
}

// same returns an error unless the generated code is the schedule of the file.
func (t *twin) same() error {
	f, err := texts.Open(t.name + ".txt")
	if err != nil {
		return err
	}
	s, err := ir.ParseText(f)
	if err != nil {
		return err
	}
	read, err := machine.Of(s)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(read.Header, t.generated.Header) || read.Digest != t.generated.Digest {
		return fmt.Errorf("header %+v, want %+v", t.generated.Header, read.Header)
	}
	if (read.Places == nil) != (t.generated.Places == nil) {
		return errors.New("one of them has no places")
	}
	for rank := range s.Ranks {
		if got, want := t.generated.Program(rank), s.Programs[rank]; !reflect.DeepEqual(got, want) {
			return fmt.Errorf("rank %d: %+v, want %+v", rank, got, want)
		}
		if _, err := t.generated.Compile(rank); err != nil {
			return err
		}
		if read.Places == nil {
			continue
		}
		if got, want := t.generated.Places(rank), read.Places(rank); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("rank %d: places %+v, want %+v", rank, got, want)
		}
	}
	if _, err := t.generated.Compile(s.Ranks); err == nil {
		return fmt.Errorf("a plan of rank %d", s.Ranks)
	}
	return nil
}
