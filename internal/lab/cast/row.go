//go:build linux

package cast

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
)

// row is one measurement.
type row struct {
	trial
	Others float64 // share of the cores that other work used before; below 0: unknown
	Store  string
	outcome
}

// outcome is the outcome of a measurement. Times are in seconds from the start of the sender; 0
// means never.
type outcome struct {
	Ended   float64 // until all hosts have the file and the sender has ended
	Healthy float64 // until the last host without a fault has the file
	Told    float64 // time that the tool reports itself, or 0
	Way     string  // the transport that schedgen chose

	SenderCPU, ReceiversCPU       float64 // seconds of processor time
	SenderMemory, ReceiversMemory int64   // bytes of the process that used most
	Sent, Received                int64   // bytes on the sender's link, and on the busiest receiver's link

	Failed string // why there is no result; "" if there is one
}

// seconds returns the time until all hosts have the file, or with a fault, all hosts without the
// fault.
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
	text := fmt.Sprintf("%s s", units.Seconds(o.Ended))
	if o.Healthy > 0 {
		text += fmt.Sprintf(", files after %s s", units.Seconds(o.Healthy))
	}
	return text
}
