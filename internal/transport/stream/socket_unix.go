//go:build unix && !linux

package stream

import "golang.org/x/sys/unix"

// acceptFD accepts one connection without blocking.
func acceptFD(fd int) (int, error) {
	conn, _, err := unix.Accept(fd)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(conn)
	if err := unix.SetNonblock(conn, true); err != nil {
		closeFD(conn)
		return -1, err
	}
	return conn, nil
}

// unacked returns 0: there is no portable way to ask.
func unacked(int) int { return 0 }

// inFlight returns 0: there is no portable way to ask.
func inFlight(int) int { return 0 }

// maxWrite is about how many bytes one write has at most.
const maxWrite = 1 << 26

// vector gathers pieces of memory for one write; here it copies them.
type vector struct {
	buf   []byte
	big   []byte // a piece too large to copy; nothing is added after it
	bytes int
}

const maxCopy = 1 << 14

func (v *vector) full() bool { return v.big != nil || len(v.buf) >= maxCopy }

func (v *vector) add(b []byte) {
	v.bytes += len(b)
	if len(b) > maxCopy {
		v.big = b
		return
	}
	v.buf = append(v.buf, b...)
}

// appendTo appends the content of the pieces to b, at most most bytes.
func (v *vector) appendTo(b []byte, most int) []byte {
	n := min(len(v.buf), most)
	b, most = append(b, v.buf[:n]...), most-n
	return append(b, v.big[:min(len(v.big), most)]...)
}

func (v *vector) reset() { v.buf, v.big, v.bytes = v.buf[:0], nil, 0 }

func (v *vector) write(fd int) (int, error) {
	n, err := 0, error(nil)
	if len(v.buf) > 0 {
		if n, err = unix.Write(fd, v.buf); err != nil || n < len(v.buf) {
			return max(n, 0), err
		}
	}
	if v.big == nil {
		return n, nil
	}
	m, err := unix.Write(fd, v.big)
	if again(err) && n > 0 {
		return n, nil
	}
	return n + max(m, 0), err
}

func readFD(fd int, b []byte) (int, error) { return unix.Read(fd, b) }

// relax does nothing: these systems confirm as they like.
const relaxEvery = 1 << 30

func relax(int) {}
