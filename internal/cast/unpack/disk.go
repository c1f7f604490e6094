package unpack

import (
	"errors"
	"fmt"
	"slices"
)

// disk syncs files and directories side by side, because to sync many takes little longer than to
// sync one. The functions that follow are called in the order of the calls of give.
type disk struct{ waits []wait }

// wait is a file or a directory that is being synced.
type wait struct {
	over <-chan error          // gets the result of the sync
	then func(err error) error // called with the result
}

// sideBySide is the greatest number of syncs at a time. Each has a file open.
const sideBySide = 32

// give calls sync in a goroutine. When all earlier syncs are done, this or a later call calls then
// with the error of sync. If sync is nil, then only waits for the earlier ones. give returns an
// error of an earlier call.
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

// settle waits until no more than left syncs are open.
func (d *disk) settle(left int) (err error) {
	for len(d.waits) > left {
		w := d.waits[0]
		d.waits = slices.Delete(d.waits, 0, 1)
		err = errors.Join(err, w.then(<-w.over))
	}
	return err
}

// temps makes unique temporary names.
type temps struct {
	random string
	count  int
}

func (t *temps) next() string {
	t.count++
	return fmt.Sprintf("%s%s-%d", TempPrefix, t.random, t.count)
}
