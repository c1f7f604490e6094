package cast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// lastWords is how long to wait for the output of a killed command.
const lastWords = time.Second

// execute passes a stream to the command. If the stream breaks off, it kills the command and all
// processes that the command has started: an end of its input would say that the stream is
// complete.
func (c *joiner) execute(ctx context.Context, r io.Reader, totals *unpack.Totals) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := c.command(ctx, c.Exec)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("--exec: %w", err)
	}
	if err := Into(unpack.Target{Stream: in}, totals)(ctx, r); err != nil {
		kill()
		if ended := cmd.Wait(); errors.Is(err, syscall.EPIPE) {
			err = fmt.Errorf("the command has closed its input: %w", ended)
		}
		return fmt.Errorf("--exec: %w", err)
	}
	if err := in.Close(); err != nil {
		return fmt.Errorf("--exec: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("--exec: %w", err)
	}
	return nil
}

// then runs the command that follows the cast, if there is one.
func (c *joiner) then(ctx context.Context) error {
	if c.Then == "" {
		return nil
	}
	if err := c.command(ctx, c.Then).Run(); err != nil {
		return fmt.Errorf("--then: %w", err)
	}
	return nil
}

// command returns a shell command. When ctx ends, the command and all processes that it has started
// are killed.
func (c *joiner) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.To, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lastWords
	return cmd
}
