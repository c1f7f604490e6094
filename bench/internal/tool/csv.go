package tool

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
)

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
