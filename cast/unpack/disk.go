package unpack

import (
	"errors"
	"fmt"
	"slices"
)

// disk has files and directories given to the disk side by side: for many it takes little longer
// than for one. What follows that is done in the order in which they were given.
type disk struct{ waits []wait }

// wait is for one of them.
type wait struct {
	over <-chan error          // the disk has it, or has failed
	then func(err error) error // what follows
}

// sideBySide is how many are given to the disk at a time: each has a file open.
const sideBySide = 32

// give has sync called beside what comes next, and then, with its error, when all that was given
// before is done. A nil sync is for what only has to wait for that. It returns what has gone wrong
// with any that was given before.
func (d *disk) give(sync func() error, then func(err error) error) error {
	over := make(chan error, 1)
	if sync != nil {
		go func() { over <- sync() }()
	} else {
		over <- nil
	}
	d.waits = append(d.waits, wait{over, then})
	return d.settle(sideBySide)
}

// settle waits until no more than some are left to wait for.
func (d *disk) settle(left int) (err error) {
	for len(d.waits) > left {
		w := d.waits[0]
		d.waits = slices.Delete(d.waits, 0, 1)
		err = errors.Join(err, w.then(<-w.over))
	}
	return err
}

// temps are names that nothing else has.
type temps struct {
	random string
	count  int
}

func (t *temps) next() string {
	t.count++
	return fmt.Sprintf("%s%s-%d", TempPrefix, t.random, t.count)
}
