// Package deep copies and compares values with all that they lead to, whatever their types. It sees
// unexported fields, too. The tag "state" of a field says how the field differs from others:
//
//	state:"fixed"    is not written after it was made: copies share it, and it is not compared
//	state:"scratch"  has no meaning between two steps: it is zero in a copy, and not compared
//	state:"ignored"  is copied, and not compared
//
// A field without a tag is copied and compared. So a new field is safe: at worst, values differ that
// could be equal. Errors, functions and channels are shared; of an error, the text is compared, and
// of a function, whether there is one.
package deep

import (
	"encoding/binary"
	"reflect"
	"slices"
	"unsafe"
)

// A Form knows how values of the types met so far are copied and compared. One goroutine at a time
// uses it.
type Form struct{ kinds map[reflect.Type]*kind }

// NewForm returns a Form that has met no type.
func NewForm() *Form { return &Form{make(map[reflect.Type]*kind)} }

// kind is what a Form knows of a type.
type kind struct {
	typ, list reflect.Type
	size      uintptr
	// detach makes the shallow copy of a value, which is at an address, independent of the original.
	// It is nil if a shallow copy already is.
	detach func(c *copying, at unsafe.Pointer)
	append func(s *state, at unsafe.Pointer)
}

// copying is one call of Copy.
type copying struct {
	*Form
	copied []stretch // ascending, without overlaps
}

// stretch is memory of the original that has been copied.
type stretch struct {
	from, end uintptr
	to        unsafe.Pointer
}

// Copy returns an independent copy of *v. Pointers and slices into memory that has been copied lead
// into the copy. Fields are copied from the last to the first: if two slices share memory, the
// later one must have all of it. f may be nil.
func Copy[T any](f *Form, v *T) *T {
	if f == nil {
		f = NewForm()
	}
	c := copying{Form: f}
	return (*T)(c.copy(reflect.TypeFor[T](), unsafe.Pointer(v), 1))
}

// copy returns the copy of n values at p, which it makes unless it exists.
func (c *copying) copy(t reflect.Type, p unsafe.Pointer, n int) unsafe.Pointer {
	k := c.of(t)
	from, end := uintptr(p), uintptr(p)+k.size*uintptr(n)
	if from == end {
		return p
	}
	i, _ := slices.BinarySearchFunc(c.copied, from, func(s stretch, from uintptr) int {
		if s.end <= from {
			return -1
		}
		return 1
	})
	if i < len(c.copied) && c.copied[i].from < end {
		s := &c.copied[i]
		if from < s.from || s.end < end {
			panic("deep: memory of " + t.String() + " has been copied in part")
		}
		return unsafe.Add(s.to, from-s.from)
	}
	list := reflect.MakeSlice(k.list, n, n)
	reflect.Copy(list, reflect.SliceAt(t, p, n))
	to := list.UnsafePointer()
	c.copied = slices.Insert(c.copied, i, stretch{from, end, to})
	for i := n - 1; i >= 0 && k.detach != nil; i-- {
		k.detach(c, unsafe.Add(to, uintptr(i)*k.size))
	}
	return to
}

// boxed returns an independent copy of v that has an address.
func (c *copying) boxed(v reflect.Value) reflect.Value {
	box := reflect.New(v.Type()).Elem()
	box.Set(v)
	if k := c.of(v.Type()); k.detach != nil {
		k.detach(c, box.Addr().UnsafePointer())
	}
	return box
}

// state is one call of Append.
type state struct {
	*Form
	b         []byte
	from, end uintptr // memory of the value itself
}

// Append appends the state of *v to dst, in a form that can be read in only one way: equal bytes mean
// equal states. What *v leads to must not lead back, except to *v itself. f may be nil.
func Append[T any](f *Form, dst []byte, v *T) []byte {
	if f == nil {
		f = NewForm()
	}
	k := f.of(reflect.TypeFor[T]())
	s := state{f, dst, uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(v)) + k.size}
	k.append(&s, unsafe.Pointer(v))
	return s.b
}

func (s *state) num(n uint64) { s.b = binary.AppendUvarint(s.b, n) }

func (s *state) text(t string) {
	s.num(uint64(len(t)))
	s.b = append(s.b, t...)
}

// flag appends whether something exists, and returns it.
func (s *state) flag(exists bool) bool {
	if exists {
		s.b = append(s.b, 1)
	} else {
		s.b = append(s.b, 0)
	}
	return exists
}

// boxed appends v, which need not have an address.
func (s *state) boxed(v reflect.Value) {
	box := reflect.New(v.Type()).Elem()
	box.Set(v)
	s.of(v.Type()).append(s, box.Addr().UnsafePointer())
}

// of returns what is known of a type.
func (f *Form) of(t reflect.Type) *kind {
	k := f.kinds[t]
	if k == nil {
		k = &kind{typ: t, list: reflect.SliceOf(t), size: t.Size()}
		f.kinds[t] = k // before its parts, which may lead to it
		f.meet(k)
	}
	return k
}

// slice is the layout of every slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func (f *Form) meet(k *kind) {
	t, size := k.typ, k.size
	at := func(p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }
	switch t.Kind() {
	case reflect.String:
		k.append = func(s *state, p unsafe.Pointer) { s.text(*(*string)(p)) }
	case reflect.Func, reflect.Chan:
		k.append = func(s *state, p unsafe.Pointer) { s.flag(*(*unsafe.Pointer)(p) != nil) }
	case reflect.Pointer:
		elem := t.Elem()
		k.detach = func(c *copying, p unsafe.Pointer) {
			if to := (*unsafe.Pointer)(p); *to != nil {
				*to = c.copy(elem, *to, 1)
			}
		}
		k.append = func(s *state, p unsafe.Pointer) {
			to := *(*unsafe.Pointer)(p)
			if at := uintptr(to); s.flag(to != nil && s.from <= at && at < s.end) {
				s.num(uint64(at - s.from))
			} else if s.flag(to != nil) {
				s.of(elem).append(s, to)
			}
		}
	case reflect.Slice:
		elem := t.Elem()
		k.detach = func(c *copying, p unsafe.Pointer) {
			l := (*slice)(p)
			if l.cap = l.len; l.len > 0 {
				l.data = c.copy(elem, l.data, l.len)
			}
		}
		k.append = func(s *state, p unsafe.Pointer) {
			l := (*slice)(p)
			s.num(uint64(l.len))
			s.list(s.of(elem), l.data, l.len)
		}
	case reflect.Array:
		elem, n := f.of(t.Elem()), t.Len()
		if elem.detach != nil {
			k.detach = func(c *copying, p unsafe.Pointer) {
				for i := n - 1; i >= 0; i-- {
					elem.detach(c, unsafe.Add(p, uintptr(i)*elem.size))
				}
			}
		}
		k.append = func(s *state, p unsafe.Pointer) { s.list(elem, p, n) }
	case reflect.Struct:
		f.meetStruct(k)
	case reflect.Map:
		k.detach = func(c *copying, p unsafe.Pointer) {
			if m := at(p); !m.IsNil() {
				own := reflect.MakeMapWithSize(t, m.Len())
				for each := m.MapRange(); each.Next(); {
					own.SetMapIndex(c.boxed(each.Key()), c.boxed(each.Value()))
				}
				m.Set(own)
			}
		}
		k.append = func(s *state, p unsafe.Pointer) {
			var all []string
			for each := at(p).MapRange(); each.Next(); {
				entry := state{s.Form, nil, s.from, s.end}
				entry.boxed(each.Key())
				entry.boxed(each.Value())
				all = append(all, string(entry.b))
			}
			s.num(uint64(len(all)))
			for _, entry := range slices.Sorted(slices.Values(all)) {
				s.text(entry)
			}
		}
	case reflect.Interface:
		if t == reflect.TypeFor[error]() {
			k.append = func(s *state, p unsafe.Pointer) {
				if err := *(*error)(p); s.flag(err != nil) {
					s.text(err.Error())
				}
			}
			return
		}
		k.detach = func(c *copying, p unsafe.Pointer) {
			if v := at(p); !v.IsNil() {
				v.Set(c.boxed(v.Elem()))
			}
		}
		k.append = func(s *state, p unsafe.Pointer) {
			if v := at(p); s.flag(!v.IsNil()) {
				s.boxed(v.Elem())
			}
		}
	default: // a number or a truth value
		k.append = func(s *state, p unsafe.Pointer) { s.num(load(p, size)) }
	}
}

// meetStruct is meet for a struct: its fields one after the other.
func (f *Form) meetStruct(k *kind) {
	type field struct {
		*kind
		at uintptr
	}
	var detached, scratch, compared []field
	for i := range k.typ.NumField() {
		as := k.typ.Field(i)
		of := field{f.of(as.Type), as.Offset}
		tag := as.Tag.Get("state")
		switch {
		case tag == "scratch":
			scratch = append(scratch, of)
		case tag != "fixed" && of.detach != nil:
			detached = append(detached, of)
		}
		if tag == "" {
			compared = append(compared, of)
		}
	}
	if len(detached)+len(scratch) > 0 {
		k.detach = func(c *copying, p unsafe.Pointer) {
			for _, of := range scratch {
				reflect.NewAt(of.typ, unsafe.Add(p, of.at)).Elem().SetZero()
			}
			for _, of := range slices.Backward(detached) {
				of.detach(c, unsafe.Add(p, of.at))
			}
		}
	}
	k.append = func(s *state, p unsafe.Pointer) {
		for _, of := range compared {
			of.append(s, unsafe.Add(p, of.at))
		}
	}
}

// list appends n values at p.
func (s *state) list(elem *kind, p unsafe.Pointer, n int) {
	if elem.typ.Kind() == reflect.Uint8 {
		s.b = append(s.b, unsafe.Slice((*byte)(p), n)...)
		return
	}
	for i := range n {
		elem.append(s, unsafe.Add(p, uintptr(i)*elem.size))
	}
}

// load returns the bits of a number.
func load(p unsafe.Pointer, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}
