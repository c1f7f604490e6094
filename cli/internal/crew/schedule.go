package crew

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
)

// scheduleFile creates an unnamed file that holds a schedule, for ranks that are processes.
func scheduleFile(s *ir.Schedule) (*os.File, error) {
	f, err := os.CreateTemp("", "schedgen-schedule-")
	if err != nil {
		return nil, fmt.Errorf("the schedule for the ranks: %w", err)
	}
	if err = errors.Join(os.Remove(f.Name()), ir.WriteText(f, s)); err != nil {
		return nil, fmt.Errorf("the schedule for the ranks: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// readSchedule reads a file that scheduleFile has written. It does not move the file's offset,
// which all ranks share.
func readSchedule(f *os.File) (*ir.Schedule, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ir.ParseText(io.NewSectionReader(f, 0, info.Size()))
}

// use makes a communicator use the schedule.
func use(comm *runtime.Comm, s *ir.Schedule) error {
	program, err := machine.Of(s)
	if err != nil {
		return err
	}
	return comm.Use(program)
}
