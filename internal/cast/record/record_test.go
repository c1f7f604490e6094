package record

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// drawName draws a name, which is mostly valid.
func drawName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-c]{1,3}`), rapid.SampledFrom([]string{" ", "..a", "a.", "-", "é", "\n", "\xff", strings.Repeat("x", MaxName)}))
}

// drawAttributes draws attributes of an entry, or none. A file's attributes may have the next
// number.
func drawAttributes(t *rapid.T, links *uint32, file bool) []Record {
	if !rapid.Bool().Draw(t, "attributes") {
		return nil
	}
	a := &Attributes{ACL: rapid.Bool().Draw(t, "acl"), Xattr: rapid.Bool().Draw(t, "xattr")}
	if rapid.Bool().Draw(t, "owner") {
		a.Owner = &Owner{rapid.Uint32().Draw(t, "uid"), rapid.Uint32().Draw(t, "gid"), "user", ""}
	}
	if a.ACL {
		a.Extended = append(a.Extended, Extended{AccessACL, []byte{2, 0, 0, 0}})
	}
	if a.Xattr {
		a.Extended = append(a.Extended, Extended{"user.a", []byte{}}, Extended{"user.b", bytes.Repeat([]byte("v"), MaxValue)})
	}
	if file && rapid.Bool().Draw(t, "number") {
		*links++
		a.Link = *links
	}
	return []Record{{Kind: Attr, Attributes: a}}
}

// drawEntries draws the entries of a directory, and everything below them.
func drawEntries(t *rapid.T, depth int) []Record { return drawBelow(t, depth, new(uint32)) }

func drawBelow(t *rapid.T, depth int, links *uint32) (all []Record) {
	names := rapid.SliceOfNDistinct(drawName(), 0, 4, rapid.ID).Draw(t, "names")
	slices.Sort(names)
	for _, name := range names {
		when := rapid.Int64().Draw(t, "time")
		mode := ModeOf(uint16(rapid.IntRange(0, 0o7777).Draw(t, "mode")))
		switch kind := rapid.SampledFrom([]Kind{Directory, File, Link, FreeLink, HardLink, Omission}).Draw(t, "kind"); {
		case kind == Directory && depth < 3:
			all = append(all, drawAttributes(t, links, false)...)
			all = append(all, Record{Kind: Directory, Name: name, Mode: mode, Time: when})
			all = append(append(all, drawBelow(t, depth+1, links)...), Record{Kind: Up})
		case kind == HardLink && *links > 0:
			all = append(all, Record{Kind: HardLink, Name: name, Size: int64(*links)})
		case kind == Omission:
			all = append(all, Record{Kind: Omission, Name: name})
		case kind == FreeLink:
			all = append(all, drawAttributes(t, links, false)...)
			all = append(all, Record{Kind: FreeLink, Name: name, Target: "/a/../b"})
		case kind == Link:
			all = append(all, Record{Kind: Link, Name: name, Target: strings.Repeat("../", rapid.IntRange(0, depth).Draw(t, "ups")) + "a/b"})
		default:
			file := Record{Kind: File, Name: name, Mode: mode, Time: when}
			if rapid.Bool().Draw(t, "void") {
				parts := drawFile(t, file)
				all = append(append(all, parts[:rapid.IntRange(1, len(parts)-1).Draw(t, "read")]...), Record{Kind: Void})
			}
			all = append(all, drawAttributes(t, links, true)...)
			all = append(all, drawFile(t, file)...)
		}
	}
	return all
}

func drawFile(t *rapid.T, file Record) []Record {
	file.Holes = rapid.Bool().Draw(t, "holes")
	var parts []Record
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		if file.Holes && rapid.Bool().Draw(t, "hole") {
			parts = append(parts, Record{Kind: Hole, Size: rapid.Int64Range(1, math.MaxInt64>>3).Draw(t, "size")})
		} else {
			n := rapid.SampledFrom([]int{1, 2, 1000, MaxSpan}).Draw(t, "length")
			parts = append(parts, Record{Kind: Data, Data: bytes.Repeat([]byte{byte(n)}, n)})
		}
		file.Size += max(parts[len(parts)-1].Size, int64(len(parts[len(parts)-1].Data)))
	}
	sum := Record{Kind: Sum}
	copy(sum.Sum[:], rapid.SliceOfN(rapid.Byte(), SumLen, SumLen).Draw(t, "sum"))
	return append(append([]Record{file}, parts...), sum)
}

// A Reader returns the records that a Writer has written.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawEntries(t, 0)
		var b bytes.Buffer
		w := NewWriter(&b)
		for i := range all {
			require.NoError(t, w.Write(&all[i]))
		}
		all = append(all, Record{Kind: End, Size: w.Entries(), Sum: w.Digest()})
		require.NoError(t, w.Write(&all[len(all)-1]))
		r := NewReader(&b)
		for i := range all {
			got, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, all[i], got)
		}
	})
}

// The digest of a tree is the same if it is sent as a whole, in part, or as a survey. Other trees
// have other digests. An end with the digest of another tree is an error at both sides.
func TestDigest(t *testing.T) {
	sum := Record{Kind: Sum, Sum: [SumLen]byte{7}}
	file := func(name string, mode fs.FileMode, time, size int64, holes bool) Record {
		return Record{Kind: File, Name: name, Mode: mode, Time: time, Size: size, Holes: holes}
	}
	digest := func(all ...Record) Digest {
		w := NewWriter(io.Discard)
		for i := range all {
			require.NoError(t, w.Write(&all[i]))
		}
		return w.Digest()
	}
	data := Record{Kind: Data, Data: []byte("abc")}
	want := digest(file("f", 0o644, 5, 3, false), data, sum)
	require.Equal(t, want, digest(file("f", 0o644, 5, 3, true), Record{Kind: Hole, Size: 3}, sum))
	require.Equal(t, want, digest(file("f", 0o644, 5, 3, false), Record{Kind: Keep, Size: 3}, sum))
	require.Equal(t, want, digest(Record{Kind: Survey}, file("f", 0o644, 5, 3, false), Record{Kind: Print}, sum))
	require.Equal(t, want, digest(file("f", 0o600, 4, 9, false), data, Record{Kind: Void}, file("f", 0o644, 5, 3, false), data, sum))
	require.Equal(t, want, digest(Record{Kind: Delete}, Record{Kind: Omission, Name: "e"}, file("f", 0o644, 5, 3, false), data, sum))
	quick := digest(Record{Kind: Outline}, file("f", 0o644, 5, 3, false))
	require.Equal(t, quick, digest(Record{Kind: Quick}, file("f", 0o644, 5, 3, false), Record{Kind: Same}))
	require.Equal(t, quick, digest(Record{Kind: Quick}, file("f", 0o644, 5, 3, false), data, sum))
	require.Equal(t, quick, digest(Record{Kind: Quick}, Record{Kind: Survey}, file("f", 0o644, 5, 3, false), Record{Kind: Print}, sum))
	seen := map[Digest]bool{want: true, quick: true}
	for _, all := range [][]Record{
		{},
		{file("g", 0o644, 5, 3, false), data, sum},
		{file("f", 0o640, 5, 3, false), data, sum},
		{file("f", 0o644, 6, 3, false), data, sum},
		{file("f", 0o644, 5, 3, false), data, {Kind: Sum}},
		{file("f", 0o644, 5, 0, false), sum},
		{{Kind: Directory, Name: "d"}, file("f", 0o644, 5, 3, false), data, sum, {Kind: Up}},
		{{Kind: Directory, Name: "d"}, {Kind: Up}, file("f", 0o644, 5, 3, false), data, sum},
		{{Kind: Link, Name: "f", Target: "g"}},
		{{Kind: FreeLink, Name: "f", Target: "g"}},
		{{Kind: Attr, Attributes: &Attributes{Owner: &Owner{1, 2, "a", "b"}}}, file("f", 0o644, 5, 3, false), data, sum},
		{{Kind: Attr, Attributes: &Attributes{Link: 1}}, file("f", 0o644, 5, 3, false), data, sum, {Kind: HardLink, Name: "g", Size: 1}},
		{file("f", 0o644|fs.ModeSetuid, 5, 3, false), data, sum},
		{{Kind: Stream}, data, sum},
	} {
		got := digest(all...)
		require.False(t, seen[got], "%+v", all)
		seen[got] = true
	}
	var b bytes.Buffer
	w := NewWriter(&b)
	link := Record{Kind: Link, Name: "f", Target: "g"}
	require.NoError(t, w.Write(&link))
	end := Record{Kind: End, Size: 1, Sum: want}
	require.ErrorIs(t, w.Write(&end), ErrDigest)
	r := NewReader(bytes.NewReader(appendHead(b.Bytes(), &end)))
	_, err := r.Next()
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, ErrDigest)
}

// A stream that ends early at any byte is an error.
func TestCutOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, r := range drawEntries(t, 0) {
			require.NoError(t, w.Write(&r))
		}
		require.NoError(t, w.Write(&Record{Kind: End, Size: w.Entries(), Sum: w.Digest()}))
		cut := rapid.IntRange(0, b.Len()-1).Draw(t, "cut")
		r := NewReader(bytes.NewReader(b.Bytes()[:cut]))
		for {
			if _, err := r.Next(); err != nil {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				return
			}
		}
	})
}

// Both sides refuse invalid records with the same error.
func TestGrammar(t *testing.T) {
	file := Record{Kind: File, Name: "f", Size: 3, Mode: 0o644}
	data := func(n int) Record { return Record{Kind: Data, Data: make([]byte, n)} }
	dir := func(name string) Record { return Record{Kind: Directory, Name: name} }
	for _, c := range []struct {
		want string
		all  []Record
	}{
		{`the name ""`, []Record{dir("")}},
		{`the name "."`, []Record{dir(".")}},
		{`the name ".."`, []Record{dir("..")}},
		{`the name "a/b"`, []Record{dir("a/b")}},
		{`the name "/"`, []Record{dir("/")}},
		{`the name "a\x00b"`, []Record{dir("a\x00b")}},
		{`"a" comes after "a"`, []Record{dir("a"), {Kind: Up}, {Kind: Link, Name: "a", Target: "b"}}},
		{`"a" comes after "b"`, []Record{dir("b"), {Kind: Up}, dir("a")}},
		{"it leaves the top directory", []Record{{Kind: Up}}},
		{"has mode", []Record{{Kind: Directory, Name: "d", Mode: 0o1777}}},
		{"a link leads out of the top directory", []Record{{Kind: Link, Name: "l", Target: "/etc/passwd"}}},
		{"a link leads, or may lead, out", []Record{{Kind: Link, Name: "l", Target: ".."}}},
		{"a link leads, or may lead, out", []Record{dir("d"), {Kind: Link, Name: "l", Target: "a/../b"}}},
		{"a link's target has 0 bytes", []Record{{Kind: Link, Name: "l"}}},
		{"3 bytes of a file are missing", []Record{file, {Kind: Sum}}},
		{"1 bytes more than announced", []Record{file, data(4)}},
		{`a record of kind 'o' in place of data`, []Record{file, {Kind: Hole, Size: 3}}},
		{`a record of kind 'd' in place of data`, []Record{file, dir("d")}},
		{"a stretch of 0 bytes", []Record{file, data(0)}},
		{"bytes", []Record{{Kind: File, Name: "f", Size: -1}}},
		{"a stream beside files", []Record{dir("d"), {Kind: Stream}}},
		{`"d" beside a stream`, []Record{{Kind: Stream}, {Kind: Sum}, dir("d")}},
		{"'x' outside of a file", []Record{data(1)}},
		{"it ends inside a directory", []Record{dir("d"), {Kind: End, Size: 1}}},
		{"but announces 2", []Record{dir("d"), {Kind: Up}, {Kind: End, Size: 2}}},
		{"'v' outside of a file", []Record{dir("d"), {Kind: Survey}}},
		{"a survey of a stream", []Record{{Kind: Survey}, {Kind: Stream}}},
		{"'x' in a survey", []Record{{Kind: Survey}, file, data(3)}},
		{"a file has more blocks than announced", []Record{{Kind: Survey}, file, {Kind: Print}, {Kind: Print}}},
		{"3 bytes of a file are missing", []Record{{Kind: Survey}, file, {Kind: Sum}}},
		{"'b' in place of data", []Record{file, {Kind: Print}}},
		{"1 bytes more than announced", []Record{file, {Kind: Keep, Size: 4}}},
		{"'k' in place of data", []Record{{Kind: Stream}, {Kind: Keep, Size: 1}}},
		{"a survey of a stream, or one with deletion", []Record{{Kind: Delete}, {Kind: Stream}}},
		{"a rule where nothing is deleted", []Record{{Kind: Rule, Target: "a"}}},
		{"1025 bytes", []Record{{Kind: Delete}, {Kind: Rule, Target: strings.Repeat("a", 1025)}}},
		{"'D' comes twice", []Record{{Kind: Delete}, {Kind: Delete}}},
		{"'V' comes twice, or beside another", []Record{{Kind: Survey}, {Kind: Outline}}},
		{"a quick outline", []Record{{Kind: Quick}, {Kind: Outline}}},
		{"'Q' outside of a file", []Record{{Kind: Survey}, {Kind: Quick}}},
		{"'D' outside of a file", []Record{dir("d"), {Kind: Delete}}},
		{"'h' after attributes", []Record{{Kind: Attr, Attributes: &Attributes{}}, {Kind: HardLink, Name: "h", Size: 1}}},
		{"'a' after attributes", []Record{{Kind: Attr, Attributes: &Attributes{}}, {Kind: Attr, Attributes: &Attributes{}}}},
		{"'e' after attributes", []Record{{Kind: Attr, Attributes: &Attributes{}}, {Kind: End}}},
		{"a file of number 2 after 0", []Record{{Kind: Attr, Attributes: &Attributes{Link: 2}}}},
		{"has a number but is not a file", []Record{{Kind: Attr, Attributes: &Attributes{Link: 1}}, dir("d")}},
		{"is a further name of file 1 of 0", []Record{{Kind: HardLink, Name: "h", Size: 1}}},
		{"file 1 of 0", []Record{{Kind: Attr, Attributes: &Attributes{Link: 1}}, file, {Kind: Void}, {Kind: HardLink, Name: "h", Size: 1}}},
		{`the extended attribute "user.a" after "user.a"`, []Record{{Kind: Attr, Attributes: &Attributes{Xattr: true, Extended: []Extended{{"user.a", nil}, {"user.a", nil}}}}}},
		{"unexpected extended attribute", []Record{{Kind: Attr, Attributes: &Attributes{Xattr: true, Extended: []Extended{{AccessACL, nil}}}}}},
		{"unexpected extended attribute", []Record{{Kind: Attr, Attributes: &Attributes{ACL: true, Extended: []Extended{{"user.a", nil}}}}}},
		{"65537 bytes", []Record{{Kind: Attr, Attributes: &Attributes{Xattr: true, Extended: []Extended{{"user.a", make([]byte, MaxValue+1)}}}}}},
		{"257 extended attributes", []Record{{Kind: Attr, Attributes: &Attributes{Xattr: true, Extended: make([]Extended, MaxExtended+1)}}}},
		{"a link's target has 0 bytes", []Record{{Kind: FreeLink, Name: "l"}}},
		{"'=' in place of data", []Record{file, {Kind: Same}}},
		{"'=' in place of data", []Record{{Kind: Quick}, file, data(1), {Kind: Same}}},
		{"'w' in place of data", []Record{{Kind: Stream}, {Kind: Void}}},
		{`"e" comes after "f"`, []Record{file, {Kind: Void}, dir("e")}},
		{"'.' outside of a file", []Record{{Kind: Outline}, file, {Kind: Sum}}},
		{"something follows the end", []Record{{Kind: End, Sum: sha256.Sum256(nil)}, {Kind: End}}},
	} {
		var b bytes.Buffer
		w := NewWriter(&b)
		var err error
		raw := append([]byte(magic), version)
		for i := range c.all {
			require.NoError(t, err, "%s: record %d of %d", c.want, i, len(c.all))
			err = w.Write(&c.all[i])
			raw = append(appendHead(raw, &c.all[i]), c.all[i].Data...)
		}
		require.ErrorIs(t, err, ErrFormat, c.want)
		require.ErrorContains(t, err, c.want)
		r := NewReader(bytes.NewReader(raw))
		for range len(c.all) - 1 {
			_, err := r.Next()
			require.NoError(t, err, c.want)
		}
		_, err = r.Next()
		require.ErrorIs(t, err, ErrFormat)
		require.ErrorContains(t, err, c.want)
	}
}

func TestDepth(t *testing.T) {
	w := NewWriter(io.Discard)
	for range MaxDepth {
		require.NoError(t, w.Write(&Record{Kind: Directory, Name: "d"}))
	}
	require.ErrorContains(t, w.Write(&Record{Kind: Directory, Name: "d"}), "more than 256 nested directories")
}

// leads follows a target as a system would if any name in it were a link to any directory below the
// top. It returns the least depth below the top that may be reached.
func leads(target string, depth int) int {
	if strings.HasPrefix(target, "/") {
		return -1
	}
	lowest, at := depth, depth
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			at--
		default:
			at = 0 // at worst, the name is a link to the top
		}
		lowest = min(lowest, at)
	}
	return lowest
}

// FuzzTarget checks that an accepted target stays below the top, whatever exists there.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"a", "../a", "./../..", "a/..", "/", "..//b", "..."} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, target string, depth int) {
		depth &= 7
		if CheckTarget(target, depth) != nil {
			return
		}
		if leads(target, depth) < 0 || path.IsAbs(target) || strings.ContainsRune(target, 0) {
			t.Fatalf("%q is taken at depth %d", target, depth)
		}
	})
}

// FuzzReader checks that a Writer accepts all records that a Reader returns, and that it writes the
// same bytes.
func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, r := range []Record{
		{Kind: Directory, Name: "d", Mode: 0o755, Time: 1}, {Kind: Link, Name: "l", Target: "../f"}, {Kind: Up},
		{Kind: File, Name: "f", Mode: 0o644, Size: 5, Holes: true}, {Kind: Data, Data: []byte("ab")}, {Kind: Hole, Size: 3}, {Kind: Sum},
		{Kind: Attr, Attributes: &Attributes{Owner: &Owner{1, 2, "u", "g"}, Link: 1, Xattr: true, Extended: []Extended{{"user.a", []byte("v")}}}},
		{Kind: File, Name: "g", Size: 1}, {Kind: Data, Data: []byte("c")}, {Kind: Void},
		{Kind: Attr, Attributes: &Attributes{Link: 1}}, {Kind: File, Name: "g", Mode: fs.ModeSetuid | 0o755}, {Kind: Sum},
		{Kind: HardLink, Name: "h", Size: 1}, {Kind: FreeLink, Name: "i", Target: "/x"}, {Kind: Omission, Name: "j"},
		{Kind: End, Size: 6},
	} {
		if r.Kind == End {
			r.Sum = w.Digest()
		}
		if err := w.Write(&r); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes())
	f.Add(append([]byte(magic), version, 'v', 'f', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 'a', 'b'))
	f.Add(append([]byte(magic), version, 'Q', 'v', 'D', 1, 'p', 0, 0, 1, '*', 'f', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 'a', '='))
	f.Add(append([]byte(magic), version, 'V', 'f', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 'a'))
	f.Add(append([]byte(magic), version, 's', 'x', 0, 0, 0, 1, 'a'))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := NewReader(bytes.NewReader(input))
		var out bytes.Buffer
		w := NewWriter(&out)
		for {
			rec, err := r.Next()
			if err != nil {
				if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrDigest) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				break
			}
			if err := w.Write(&rec); err != nil {
				t.Fatalf("%+v was read and cannot be written: %v", rec, err)
			}
		}
		if !bytes.HasPrefix(input, out.Bytes()) {
			t.Fatalf("%q was read of %q", out.Bytes(), input)
		}
	})
}
