package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// Refuse notes that a layer above has refused a call of a collective, as the methods of c do with
// arguments that are wrong: words say which call and why. The call does nothing and does not count.
// If other ranks wait for this one and it does not call again, all of them fail with ErrMismatch in
// these words; see the section on errors of the package.
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
		c.drv.tr.Wake() // others may be waiting already
	}
}

// refuse notes that a call is refused because of err, which it returns.
func (c *Comm) refuse(err error) error {
	c.Refuse(refusalWords(err))
	return err
}

// refuseInside is refuse with the lock held. Errors that are not about arguments are no refusals.
func (c *Comm) refuseInside(err error) error {
	if errors.Is(err, ErrInput) {
		c.noteRefusal(refusalWords(err))
	}
	return err
}

// refusalWords returns what err says, without that it is ErrInput.
func refusalWords(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprint(ErrInput, ": "))
}
