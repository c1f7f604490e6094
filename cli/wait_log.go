package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/schedgen/schedgen/internal/terminal"
)

// waitLog returns a log that prints to standard error what a process waits for while ranks or
// members meet, one line for each message.
func waitLog(std terminal.Stdio) *slog.Logger { return slog.New(waitHandler{std.Err}) }

// waitHandler writes the messages of warnings and errors, without level, time or attributes.
type waitHandler struct{ w io.Writer }

func (waitHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h waitHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(h.w, "schedgen: %s\n", r.Message)
	return err
}

func (h waitHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h waitHandler) WithGroup(string) slog.Handler { return h }
