package tool

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

// WriteCSV writes records. The first of them holds the columns if the file is to be read by [ReadCSV].
func WriteCSV(w io.Writer, records iter.Seq[[]string]) error {
	out := csv.NewWriter(w)
	for record := range records {
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Float returns the text of a number with the given digits after the point.
func Float(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Fields parses the fields of a record. Its methods return the value of column i; [Fields.Err] tells
// what is wrong with any of them.
type Fields struct {
	columns, record []string
	errs            []error
}

// NewFields returns the fields of a record with the given columns.
func NewFields(columns, record []string) *Fields {
	return &Fields{columns: columns, record: record}
}

// Err returns the errors of the fields that were parsed so far, or nil.
func (f *Fields) Err() error { return errors.Join(f.errs...) }

func (f *Fields) failed(i int, err error) {
	f.errs = append(f.errs, fmt.Errorf("%s: %q: %w", f.columns[i], f.record[i], err))
}

// Int returns a whole number, which must not be negative.
func (f *Fields) Int(i int) int { return int(f.whole(i, strconv.IntSize)) }

// Int64 returns a whole number, which must not be negative.
func (f *Fields) Int64(i int) int64 { return f.whole(i, 64) }

func (f *Fields) whole(i, bits int) int64 {
	n, err := strconv.ParseInt(f.record[i], 10, bits)
	if err == nil && n < 0 {
		err = errors.New("is negative")
	}
	if err != nil {
		f.failed(i, err)
	}
	return n
}

// Time returns a time or a share. A negative one, down to -1, means that it is unknown.
func (f *Fields) Time(i int) float64 {
	x, err := strconv.ParseFloat(f.record[i], 64)
	if err == nil && !(x >= -1 && x < math.MaxFloat64) {
		err = errors.New("is no time")
	}
	if err != nil {
		f.failed(i, err)
	}
	return x
}

// ReadFile returns the result of parse for the file called name. Errors begin with the name.
func ReadFile[T any](name string, parse func(io.Reader) (T, error)) (got T, err error) {
	f, err := os.Open(name)
	if err != nil {
		return got, err
	}
	defer f.Close() // it was only read
	if got, err = parse(f); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return got, err
}

// ReadCSV calls row with each record after the first line, which must hold the known columns. what
// names the owner of the columns in errors. Errors tell the line.
func ReadCSV(in io.Reader, columns []string, what string, row func(record []string) error) error {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = len(columns)
	head, err := reader.Read()
	if err != nil {
		return err
	}
	if !slices.Equal(head, columns) {
		return fmt.Errorf("line 1: these are not the columns of %s", what)
	}
	for {
		record, err := reader.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := row(record); err != nil {
			line, _ := reader.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
