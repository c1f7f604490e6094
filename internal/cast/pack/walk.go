package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/names"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// visitor is called for all entries of an origin, in the order in which they are sent.
type visitor interface {
	// enter is called for a directory. The calls for its entries follow, until leave.
	enter(e *entry, dir *os.Root) error
	leave() error
	// file is called for a regular file.
	file(e *entry) error
	link(e *entry, target string) error
	// omit is called for an existing entry that is not sent.
	omit(name string) error
	// settled reports whether the next entry was sent in an earlier pass, and therefore must be
	// sent again.
	settled() bool
}

// entry is an entry of a tree.
type entry struct {
	name string
	path string      // for errors, and to follow links
	rel  string      // path relative to the top
	info fs.FileInfo // if a link is followed, of its target
	in   *os.Root    // its directory; nil: path must be opened
	top  bool        // the entry is a source
}

// open opens a regular file, and nothing else.
func (e *entry) open() (f *os.File, err error) {
	if e.in == nil {
		f, err = os.OpenFile(e.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	} else {
		f, err = e.in.OpenFile(e.name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, within(e.path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: it is now a %v", e.path, kindOf(info.Mode()))
	}
	if err != nil {
		return nil, errors.Join(within(e.path, err), f.Close())
	}
	return f, nil
}

// walker visits the entries of an origin.
type walker struct {
	*Origin
	ctx   context.Context
	v     visitor
	above []id // the open directories, if links are followed
	depth int
	probe bool // the visitor opens no files, so check whether they can be read
}

// walk calls v for all entries.
func (o *Origin) walk(ctx context.Context, v visitor, probe bool) error {
	w := &walker{Origin: o, ctx: ctx, v: v, probe: probe}
	last := ""
	for top, err := range o.top() {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if top.name == last {
			return fmt.Errorf("%s: another source also has the name %s", top.path, top.name)
		}
		last = top.name
		if top.in != nil {
			err = w.entry(top)
		} else {
			err = w.named(top)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// top returns the entries at the top of the tree, in the order of their names.
func (o *Origin) top() iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		var heads []*head
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		for i := range o.sources {
			next, stop := iter.Pull2(o.sources[i].entries())
			h := &head{next: next, stop: stop}
			heads = append(heads, h)
			h.advance()
		}
		for {
			var least *head
			for _, h := range heads {
				if h.err != nil {
					yield(nil, o.missing(h.err))
					return
				}
				if h.e != nil && (least == nil || h.e.name < least.e.name) {
					least = h
				}
			}
			if least == nil || !yield(least.e, nil) {
				return
			}
			least.advance()
		}
	}
}

// head is the next entry of a source.
type head struct {
	next func() (*entry, error, bool)
	stop func()
	e    *entry // nil after the last
	err  error
}

func (h *head) advance() {
	e, err, ok := h.next()
	if !ok {
		e, err = nil, nil
	}
	h.e, h.err = e, err
}

// entries returns the entries of a source at the top: the source, or its own entries.
func (s *source) entries() iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		if s.name != "" {
			yield(&entry{name: s.name, path: s.path, rel: s.name, top: true}, nil)
			return
		}
		dir, err := os.OpenRoot(s.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer dir.Close()
		stopped := errors.New("stopped")
		err = names.Each(dir, func(name string) error {
			if !yield(&entry{name: name, path: filepath.Join(s.path, name), rel: name, in: dir}, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, within(s.path, err))
		}
	}
}

// named visits a source that is sent under its name. It must exist. A link at its path is followed.
func (w *walker) named(e *entry) (err error) {
	if e.info, err = os.Stat(e.path); err != nil {
		return w.missing(err)
	}
	if !e.info.IsDir() {
		if !e.info.Mode().IsRegular() {
			return fmt.Errorf("%s: a %v cannot be sent", e.path, kindOf(e.info.Mode()))
		}
		return w.file(e)
	}
	dir, err := os.OpenRoot(e.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.directory(e, dir)
}

// skip skips an entry that cannot be sent.
func (w *walker) skip(e *entry, why error) error {
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case w.options.Skip == nil:
		return why
	case w.v.settled():
		if errors.As(why, new(*ChangedError)) {
			return why
		}
		return &ChangedError{e.path, fmt.Sprintf("it can no longer be read: %v", why)}
	}
	w.leaveOut(e.path, why)
	if w.options.Delete {
		return w.v.omit(e.name)
	}
	return nil
}

// leaveOut records a path that no pass sends. It reports each path once, with the reason.
func (o *Origin) leaveOut(path string, why error) {
	key := hash64([]byte(path))
	if _, known := o.skipped[key]; known {
		return
	}
	if o.skipped == nil {
		o.skipped = map[uint64]struct{}{}
	}
	o.skipped[key] = struct{}{}
	o.options.Skip(path, why)
}

// entry visits an entry of a directory.
func (w *walker) entry(e *entry) (err error) {
	if _, skipped := w.skipped[hash64([]byte(e.path))]; skipped {
		if w.options.Delete {
			return w.v.omit(e.name)
		}
		return nil
	}
	if e.info, err = e.in.Lstat(e.name); err != nil {
		if w.options.Filter.Excludes(e.rel, false) {
			return nil
		}
		return w.skip(e, vanished(within(e.path, err)))
	}
	followed := w.options.Links == LinksFollowed && e.info.Mode().Type() == fs.ModeSymlink
	if followed {
		to, err := os.Stat(e.path)
		if err != nil {
			if w.options.Filter.Excludes(e.rel, false) {
				return nil
			}
			return w.skip(e, fmt.Errorf("%s: a link that leads to nothing: %w", e.path, cause(err)))
		}
		e.info, e.in = to, nil
	}
	if w.options.Filter.Excludes(e.rel, e.info.IsDir()) {
		return nil
	}
	if err := record.CheckName(e.name); err != nil {
		return w.skip(e, within(e.path, err))
	}
	switch e.info.Mode().Type() {
	case 0:
		return w.file(e)
	case fs.ModeDir:
		return w.below(e)
	case fs.ModeSymlink:
		return w.link(e)
	}
	return w.skip(e, fmt.Errorf("%s: a %v cannot be sent", e.path, kindOf(e.info.Mode())))
}

func (w *walker) file(e *entry) error {
	if w.probe {
		if err := e.readable(); err != nil {
			if e.top {
				return err
			}
			return w.skip(e, vanished(err))
		}
	}
	err := w.v.file(e)
	var failed *sourceError
	if errors.As(err, &failed) {
		return w.skip(e, vanished(failed.err))
	}
	return err
}

// readable returns an error if a file cannot be read. It opens the file only if the permissions do
// not tell.
func (e *entry) readable() error {
	st, ok := e.info.Sys().(*syscall.Stat_t)
	user := os.Geteuid()
	if user == 0 || ok && int(st.Uid) == user && e.info.Mode()&0o400 != 0 || e.info.Mode()&0o444 == 0o444 {
		return nil
	}
	f, err := e.open()
	if err != nil {
		return err
	}
	return f.Close()
}

func (w *walker) below(e *entry) (err error) {
	var dir *os.Root
	switch {
	case w.depth == record.MaxDepth:
		err = fmt.Errorf("%s: more than %d nested directories", e.path, record.MaxDepth)
	case e.in == nil:
		dir, err = os.OpenRoot(e.path)
	default:
		dir, err = e.in.OpenRoot(e.name)
	}
	if err == nil && w.options.Links == LinksFollowed {
		if mine := idOf(e.info); contains(w.above, mine) {
			err = errors.Join(fmt.Errorf("%s: a link that leads to a directory above it", e.path), dir.Close())
		}
	}
	if err != nil {
		return w.skip(e, vanished(within(e.path, err)))
	}
	defer dir.Close()
	return w.directory(e, dir)
}

func (w *walker) directory(e *entry, dir *os.Root) error {
	if err := w.v.enter(e, dir); err != nil {
		var failed *sourceError
		if errors.As(err, &failed) {
			return w.skip(e, failed.err)
		}
		return err
	}
	w.depth++
	if w.options.Links == LinksFollowed {
		w.above = append(w.above, idOf(e.info))
		defer func() { w.above = w.above[:len(w.above)-1] }()
	}
	err := names.Each(dir, func(name string) error {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		return w.entry(&entry{name: name, path: filepath.Join(e.path, name), rel: path.Join(e.rel, name), in: dir})
	})
	w.depth--
	if err != nil {
		return err
	}
	return w.v.leave()
}

func (w *walker) link(e *entry) error {
	target, err := e.in.Readlink(e.name)
	switch {
	case err != nil:
		err = within(e.path, err)
	case w.options.Links == LinksFree:
	case record.CheckTarget(target, w.depth) != nil:
		err = fmt.Errorf("%s: %w, to %s", e.path, ErrLeadsOut, target)
	}
	if err != nil {
		return w.skip(e, vanished(err))
	}
	return w.v.link(e, target)
}

// ErrLeadsOut is wrapped by the reason to skip a symbolic link that leads, or may lead, out of the
// tree.
var ErrLeadsOut = errors.New("a link that leads, or may lead, out of what is sent")

// ErrVanished is wrapped by the reason to skip an entry that no longer exists.
var ErrVanished = errors.New("it has vanished")

// vanished returns an error that wraps ErrVanished if err says that an entry does not exist, and
// err otherwise.
func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	return err
}

// sourceError is an error of reading an entry. A pass can skip the entry.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }

// ofSource marks an error as an error of reading an entry.
func ofSource(err error) error {
	if err == nil {
		return nil
	}
	return &sourceError{err}
}

// cause returns the error without its path.
func cause(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
