//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// columns are the columns of the CSV, which has a line for each measurement. Times are in seconds.
var columns = []string{
	"bytes", "hosts", "rate_bps", "loss_per_mille", "fault", "tool", "round", "others", "store", "way", "wire_s",
	"ended_s", "healthy_s", "told_s", "sender_cpu_s", "receivers_cpu_s", "sender_memory", "receivers_memory", "sent", "received", "failed",
}

// report holds all measurements of a file.
type report struct {
	name string
	rows []*row
}

// openReport creates a file, or reads the file that exists.
func openReport(o *options) (*report, error) {
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	r := &report{name: o.file(".csv")}
	if o.keep {
		rows, err := tool.ReadFile(r.name, parseCSV)
		if !errors.Is(err, fs.ErrNotExist) {
			r.rows = rows
			return r, err
		}
	}
	return r, tool.Replace(r.name, func(w io.Writer) error { return tool.WriteCSV(w, slices.Values([][]string{columns})) })
}

// kept tells for the table how many measurements earlier runs have made. The head of the table
// describes this run.
func (r *report) kept() []string {
	if len(r.rows) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of the measurements were made by runs before, of this commit or others", len(r.rows))}
}

// append adds a measurement to the file at once.
func (r *report) append(of *row) error {
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	r.rows = append(r.rows, of)
	return errors.Join(tool.WriteCSV(f, slices.Values([][]string{of.record()})), f.Close())
}

// known reports whether a measurement need not be made: it is in the file, or the tool has failed
// in this cell before.
func (r *report) known(t trial) bool {
	return slices.ContainsFunc(r.rows, func(of *row) bool {
		return of.trial == t || of.cell == t.cell && of.Tool == t.Tool && of.Failed != ""
	})
}

func (r *row) record() []string {
	return []string{
		strconv.Itoa(r.Bytes), strconv.Itoa(r.Hosts), strconv.FormatInt(r.Rate, 10), strconv.Itoa(r.PerMille), r.Fault, r.Tool, strconv.Itoa(r.Round),
		tool.Float(r.Others, 2), r.Store, r.Way, tool.Float(r.wire(), 6),
		tool.Float(r.Ended, 6), tool.Float(r.Healthy, 6), tool.Float(r.Told, 6), tool.Float(r.SenderCPU, 3), tool.Float(r.ReceiversCPU, 3),
		strconv.FormatInt(r.SenderMemory, 10), strconv.FormatInt(r.ReceiversMemory, 10),
		strconv.FormatInt(r.Sent, 10), strconv.FormatInt(r.Received, 10), r.Failed,
	}
}

func parseCSV(in io.Reader) (rows []*row, err error) {
	err = tool.ReadCSV(in, columns, "a report on casts", func(record []string) error {
		row, err := parseRow(record)
		rows = append(rows, row)
		return err
	})
	return rows, err
}

func parseRow(f []string) (*row, error) {
	r := new(row)
	r.Fault, r.Tool, r.Store, r.Way, r.Failed = f[4], f[5], f[8], f[9], f[20]
	fields := tool.NewFields(columns, f)
	r.Bytes, r.Hosts, r.PerMille, r.Round = fields.Int(0), fields.Int(1), fields.Int(3), fields.Int(6)
	r.Rate, r.Sent, r.Received = fields.Int64(2), fields.Int64(18), fields.Int64(19)
	r.SenderMemory, r.ReceiversMemory = fields.Int64(16), fields.Int64(17)
	for i, v := range map[int]*float64{7: &r.Others, 11: &r.Ended, 12: &r.Healthy, 13: &r.Told, 14: &r.SenderCPU, 15: &r.ReceiversCPU} {
		*v = fields.Time(i)
	}
	return r, fields.Err()
}
