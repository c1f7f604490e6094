package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// waitLog tells on standard error, a line each, what a process waits for while ranks or members meet.
func waitLog(std stdio) *slog.Logger { return slog.New(waitHandler{std.Err}) }

// waitHandler writes the words of warnings alone.
type waitHandler struct{ w io.Writer }

func (waitHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h waitHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(h.w, "schedgen: %s\n", r.Message)
	return err
}

func (h waitHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h waitHandler) WithGroup(string) slog.Handler { return h }
