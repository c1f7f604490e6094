package unpack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/cast/filter"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// pruner collects the entries that are deleted once everything has come.
type pruner struct {
	rules  []filter.Rule
	filter *filter.Filter // filter of the rules; set when the first entry comes
	most   int
	count  int       // number of entries to delete, up to most+1
	doomed []*doomed // one element for each directory
}

// doomed are entries of a directory that are to be deleted.
type doomed struct {
	path  string // of the directory
	names []string
	mode  fs.FileMode
	time  int64
	top   bool // the directory is the top, whose mode and time stay
}

// old iterates over the existing names in a directory, in order.
type old struct {
	next func() (string, error, bool)
	end  func()
	name string // next name; "": not known
	over bool
	dead *doomed // entries to delete in this directory; nil: none yet
}

// list iterates over the names in a directory. The directory stays open until stop is called.
func list(dir Dir) *old {
	o := new(old)
	stopped := errors.New("stopped")
	o.next, o.end = iter.Pull2(func(yield func(string, error) bool) {
		err := dir.Each(func(name string) error {
			if !yield(name, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield("", err)
		}
	})
	return o
}

func (o *old) stop() {
	if o != nil {
		o.end()
	}
}

// deletes records what the sender says about deletion.
func (u *unpacker) deletes(rec *record.Record) error {
	if rec.Kind == record.Rule {
		u.prune.rules = append(u.prune.rules, filter.Rule{Include: rec.All, Pattern: rec.Target})
		return nil
	}
	if u.target.Delete == 0 {
		return fmt.Errorf("%w: deletion of entries that the sender does not have", ErrUnasked)
	}
	u.prune = &pruner{most: u.target.Delete}
	if rec.All {
		u.levels[0].old = list(u.target.Dir)
	}
	return nil
}

// passOver dooms all remaining names in the directory before name, or all if name is "".
func (u *unpacker) passOver(name string) error {
	l := &u.levels[len(u.levels)-1]
	o := l.old
	if o == nil {
		return nil
	}
	if u.prune.filter == nil && len(u.prune.rules) > 0 {
		f, err := filter.New(u.prune.rules)
		if err != nil {
			return fmt.Errorf("%w: %w", record.ErrFormat, err)
		}
		u.prune.filter = f
	}
	for !o.over {
		if o.name == "" {
			next, err, ok := o.next()
			if err != nil {
				return u.failed(".", err)
			}
			o.name, o.over = next, !ok
		}
		switch {
		case o.over || name != "" && o.name > name:
			return nil
		case o.name != name && !strings.HasPrefix(o.name, TempPrefix):
			if err := u.doom(l, o.name); err != nil {
				return u.failed(o.name, err)
			}
		}
		o.name = ""
	}
	return nil
}

// doom records an entry that is to be deleted.
func (u *unpacker) doom(l *level, name string) error {
	p := u.prune
	if p.count > p.most {
		return nil // nothing will be deleted
	}
	some, _, err := u.eachDoomed(l.dir, name, u.at(name), func(Dir, string) error {
		if p.count++; p.count > p.most {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || !some {
		return err
	}
	if l.old.dead == nil {
		l.old.dead = &doomed{path: path.Dir(u.at(name)), mode: l.mode, time: l.time, top: len(u.levels) == 1}
		p.doomed = append(p.doomed, l.old.dead)
	}
	l.old.dead.names = append(l.old.dead.names, name)
	return nil
}

var errEnough = errors.New("enough")

// eachDoomed calls do for an entry and all entries below it, unless the rules exclude an entry.
// Entries below come first. some reports whether it called do, and stays whether the entry itself
// stays. eachDoomed never follows a link.
func (u *unpacker) eachDoomed(in Dir, name, rel string, do func(in Dir, name string) error) (some, stays bool, err error) {
	if u.ctx.Err() != nil {
		return false, true, context.Cause(u.ctx)
	}
	info, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, true, err
	}
	if u.prune.filter.Excludes(rel, info.IsDir()) {
		return false, true, nil
	}
	if info.IsDir() {
		dir, err := in.Enter(name)
		if err != nil {
			return false, true, err
		}
		err = dir.Each(func(below string) error {
			did, left, err := u.eachDoomed(dir, below, path.Join(rel, below), do)
			some, stays = some || did, stays || left
			return err
		})
		if err = errors.Join(err, dir.Close()); err != nil || stays {
			return some, true, err
		}
	}
	return true, false, do(in, name)
}

// sweep deletes the doomed entries, once everything has come.
func (u *unpacker) sweep() error {
	if err := u.passOver(""); err != nil { // of the outermost directory
		return err
	}
	p := u.prune
	if p.count > p.most {
		return fmt.Errorf("%w: more than %d; none was deleted", ErrTooMany, p.most)
	}
	for _, d := range p.doomed {
		if err := u.sweepIn(d); err != nil {
			return err
		}
	}
	return nil
}

// sweepIn deletes the doomed entries of one directory. The directory keeps its mode and its time.
func (u *unpacker) sweepIn(d *doomed) (err error) {
	chain := []Dir{u.target.Dir}
	defer func() {
		for _, dir := range slices.Backward(chain[1:]) {
			err = errors.Join(err, dir.Close())
		}
	}()
	var parts []string
	if !d.top {
		parts = strings.Split(d.path, "/")
	}
	for _, part := range parts {
		in := chain[len(chain)-1]
		info, err := in.Lstat(part)
		if err == nil && !info.IsDir() {
			err = errNoDir
		}
		var dir Dir
		if err == nil {
			dir, err = in.Enter(part)
		}
		if err != nil {
			return failedAt(d.path, err)
		}
		chain = append(chain, dir)
	}
	dir := chain[len(chain)-1]
	if !d.top {
		in, name := chain[len(chain)-2], parts[len(parts)-1]
		if d.mode&0o300 != 0o300 {
			if err := in.Chmod(name, d.mode|0o700); err != nil {
				return failedAt(d.path, err)
			}
		}
		defer func() {
			if d.mode&0o300 != 0o300 {
				err = errors.Join(err, in.Chmod(name, d.mode))
			}
			err = errors.Join(err, in.Chtimes(name, time.Unix(0, d.time)))
		}()
	}
	for _, name := range d.names {
		rel := path.Join(d.path, name)
		_, _, err := u.eachDoomed(dir, name, rel, func(in Dir, name string) error {
			if err := in.Remove(name); err != nil {
				return err
			}
			u.totals.Deleted++
			return nil
		})
		if err != nil {
			return fmt.Errorf("delete %s: %w", rel, cause(err))
		}
	}
	return dir.Sync()
}
