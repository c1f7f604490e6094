package remote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Facts are what a host tells of itself.
type Facts struct {
	System, Machine string // by uname, such as "Linux" and "x86_64"
	Client          string // IP address from which the connection came, as the host sees it; "" if it does not know
	Sum             string // SHA-256 of the program that is installed there, in hexadecimal; "" if there is none
	Version         string // what that says to --version
	Packer          string // "gzip" if the host can unpack that
}

const (
	marker   = "schedgen-remote 1"
	endMark  = "end"
	maxLine  = 4 << 10 // bytes of a line
	maxNoise = 1000    // lines that a login script prints
)

// readFacts reads what the script prints. Lines before that are a login script's; the last of them is returned with an error, which it may explain.
func readFacts(r *bufio.Reader) (f Facts, noise string, err error) {
	for range maxNoise {
		line, err := readLine(r)
		switch {
		case err != nil:
			return f, noise, err
		case line == marker:
			f, err = readFields(r)
			return f, "", err
		case strings.TrimSpace(line) != "":
			noise = line
		}
	}
	return f, noise, fmt.Errorf("its login shell prints more than %d lines", maxNoise)
}

func readFields(r *bufio.Reader) (f Facts, err error) {
	fields := map[string]*string{
		"system": &f.System, "machine": &f.Machine, "client": &f.Client,
		"sum": &f.Sum, "version": &f.Version, "packer": &f.Packer,
	}
	for {
		line, err := readLine(r)
		if err != nil {
			return f, err
		}
		if line == endMark {
			break
		}
		key, value, _ := strings.Cut(line, " ")
		field := fields[key]
		if field == nil {
			return f, fmt.Errorf("its shell says %q", line)
		}
		*field = value
		delete(fields, key)
	}
	if len(fields) > 0 {
		return f, errors.New("its shell does not say all of what it was asked")
	}
	return f, nil
}

// readLine returns a line without its end.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("a line of more than %d bytes", maxLine)
	case err == io.EOF && len(line) > 0:
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimRight(string(line), "\r\n"), err
}
