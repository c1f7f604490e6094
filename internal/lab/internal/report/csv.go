// Package report reads and writes the files of results: tables as CSV and as Markdown.
package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strconv"
)

// Table says how rows of type R are written to a CSV file and read from it. The first line of the
// file holds the names of the columns.
type Table[R any] struct {
	What    string // what the file is, for errors, such as "a report on links"
	Columns []Column[R]
}

// Column is a column of a CSV file: its name, the text of a row, and how this text is read. Read is
// nil if the value follows from other columns.
type Column[R any] struct {
	Name  string
	Write func(*R) string
	Read  func(text string, into *R) error
}

// Text returns the column of a text.
func Text[R any](name string, of func(*R) *string) Column[R] {
	return Column[R]{name,
		func(r *R) string { return *of(r) },
		func(text string, r *R) error { *of(r) = text; return nil }}
}

// Whole returns the column of a whole number, which must not be negative.
func Whole[R any, N int | int64](name string, of func(*R) *N) Column[R] {
	return Column[R]{name,
		func(r *R) string { return strconv.FormatInt(int64(*of(r)), 10) },
		func(text string, r *R) error {
			n, err := strconv.ParseInt(text, 10, 64)
			switch {
			case err != nil:
				return err
			case n < 0:
				return errors.New("is negative")
			case int64(N(n)) != n:
				return errors.New("is too large")
			}
			*of(r) = N(n)
			return nil
		}}
}

// Time returns the column of a time or a share, with the given digits after the point. A negative
// number, down to -1, means that the time is unknown.
func Time[R any](name string, digits int, of func(*R) *float64) Column[R] {
	return Column[R]{name,
		func(r *R) string { return Float(*of(r), digits) },
		func(text string, r *R) error {
			x, err := strconv.ParseFloat(text, 64)
			if err == nil && !(x >= -1 && x < math.MaxFloat64) {
				err = errors.New("is no time")
			}
			*of(r) = x
			return err
		}}
}

// Computed returns a column that is written, and not read: its value follows from others.
func Computed[R any](name string, of func(*R) string) Column[R] {
	return Column[R]{Name: name, Write: of}
}

// Float returns the text of a number with the given digits after the point.
func Float(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Names returns the names of the columns.
func (t *Table[R]) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// Write writes the names of the columns and the rows.
func (t *Table[R]) Write(w io.Writer, rows iter.Seq[*R]) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Names()); err != nil {
		return err
	}
	for row := range rows {
		if err := out.Write(t.record(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Append adds a row to the end of w.
func (t *Table[R]) Append(w io.Writer, row *R) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.record(row)); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func (t *Table[R]) record(row *R) []string {
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Write(row)
	}
	return record
}

// Read reads rows as Write writes them. Errors tell the line, the column and the text.
func (t *Table[R]) Read(in io.Reader) (rows []*R, err error) {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = len(t.Columns)
	head, err := reader.Read()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(head, t.Names()) {
		return nil, fmt.Errorf("line 1: these are not the columns of %s", t.What)
	}
	for {
		record, err := reader.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		row, err := t.parse(record)
		if err != nil {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		rows = append(rows, row)
	}
}

// parse reads the columns in their order.
func (t *Table[R]) parse(record []string) (*R, error) {
	row := new(R)
	var errs []error
	for i, c := range t.Columns {
		if c.Read == nil {
			continue
		}
		if err := c.Read(record[i], row); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q: %w", c.Name, record[i], err))
		}
	}
	return row, errors.Join(errs...)
}

// ReadFile reads a file that Write has written. Errors begin with the name.
func (t *Table[R]) ReadFile(name string) ([]*R, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	rows, err := t.Read(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return rows, err
}
