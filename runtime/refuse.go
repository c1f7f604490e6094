package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// Refuse records that a layer above has refused a call of a collective, as the methods of c do with
// wrong arguments. words say which call and why. The call does nothing and does not count. If other
// ranks wait for this rank and it does not call again, all of them fail with ErrMismatch in these
// words; see the section Errors of the package.
func (c *Comm) Refuse(words string) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if c.busy { // the call would have been ErrBusy
		return
	}
	c.noteRefusal(words)
}

// noteRefusal is Refuse with the lock held.
func (c *Comm) noteRefusal(words string) {
	c.core.Refuse(c.started+1, words)
	if c.drv.parking.parked {
		c.drv.tr.Wake() // other ranks may wait already
	}
}

// refuse records that a call is refused because of err, and returns err.
func (c *Comm) refuse(err error) error {
	c.Refuse(refusalWords(err))
	return err
}

// refuseInside is refuse with the lock held. Errors that do not wrap ErrInput are no refusals.
func (c *Comm) refuseInside(err error) error {
	if errors.Is(err, ErrInput) {
		c.noteRefusal(refusalWords(err))
	}
	return err
}

// refusalWords returns the text of err without that of ErrInput.
func refusalWords(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprint(ErrInput, ": "))
}
