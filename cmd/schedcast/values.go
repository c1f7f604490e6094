package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/schedgen/schedgen/internal/words"
)

// These functions return what sets a variable to the value of a flag.

func text(p *string) func(string) error {
	return func(value string) error { *p = value; return nil }
}

// texts returns a function that appends each value.
func texts(p *[]string) func(string) error {
	return func(value string) error { *p = append(*p, value); return nil }
}

func yes(p *bool) func(string) error {
	return func(value string) (err error) {
		if *p, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}
}

func whole(p *int) func(string) error {
	return func(value string) (err error) {
		if *p, err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		return nil
	}
}

func port(p *uint16) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not a port", value)
		}
		*p = uint16(n)
		return nil
	}
}

func duration(p *time.Duration) func(string) error {
	return func(value string) (err error) {
		if *p, err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("%q is not a time: it must be a number and a unit, such as 30s or 5m", value)
		}
		return nil
	}
}

// rate returns a function that reads bytes a second, such as 200MiB/s.
func rate(p *int64) func(string) error {
	return func(value string) (err error) {
		const each = "/s"
		if len(value) < len(each) || value[len(value)-len(each):] != each {
			return fmt.Errorf("%q is not a rate: must be a size and /s, such as 200MiB/s", value)
		}
		if *p, err = words.ParseSize(value[:len(value)-len(each)]); err == nil && *p == 0 {
			err = fmt.Errorf("a rate of 0")
		}
		return err
	}
}
