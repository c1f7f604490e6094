//go:build linux

package main

import (
	"fmt"
	"math"
)

// row is one measurement.
type row struct {
	trial
	Others float64 // share of the cores that other work took before; below 0: not known
	Store  string
	outcome
}

// outcome is what has come of it. Times are in seconds from the start of the sender; 0:
// never.
type outcome struct {
	Ended   float64 // until all hosts have the file and the sender has ended
	Healthy float64 // until the last host without a fault has the file
	Told    float64 // what the tool says itself, if it does
	Way     string  // the transport that schedgen chose

	SenderCPU, ReceiversCPU       float64 // seconds of processors
	SenderMemory, ReceiversMemory int64   // bytes, the most of a process
	Sent, Received                int64   // bytes on the sender's link, and on that of the receiver with most

	Failed string // why it is not a result
}

// seconds is how long it has taken until those have the file that should: with a fault,
// the others.
func (r *row) seconds() float64 {
	switch {
	case r.Failed != "":
		return 0
	case r.Fault == faultNone:
		return r.Ended
	}
	return r.Healthy
}

func (o *outcome) String() string {
	if o.Failed != "" {
		return o.Failed
	}
	text := fmt.Sprintf("%s s", spell(o.Ended))
	if o.Healthy > 0 {
		text += fmt.Sprintf(", files after %s s", spell(o.Healthy))
	}
	return text
}

// spell prints three digits of a time.
func spell(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	digits := 2 - int(math.Floor(math.Log10(seconds)))
	return fmt.Sprintf("%.*f", max(0, digits), seconds)
}
