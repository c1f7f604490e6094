package remote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Facts are the facts that a host reports about itself.
type Facts struct {
	System, Machine string      // by uname, such as "Linux" and "x86_64"
	Client          string      // IP address of the client as the host sees it; "" if the host does not know it
	Server          string      // IP address at which the connection came to the host; "" if the host does not know it
	Packer          string      // "gzip" if the host has it; otherwise ""
	Fetcher         string      // how it can fetch from other hosts; "" if it cannot
	Installed       []Installed // programs that are installed there
}

// Installed is a program that is installed on a host.
type Installed struct {
	Name    string
	Sum     string // SHA-256 in hexadecimal; "-" if the host cannot compute it
	Version string // output of --version
}

// maxInstalled is the greatest number of installed programs that a host may report.
const maxInstalled = 16

const (
	marker   = "schedgen-remote 2"
	endMark  = "end"
	maxLine  = 4 << 10 // bytes of a line
	maxNoise = 1000    // lines that a login script prints
)

// readFacts reads the facts that the script prints. A login script may print lines before them. The
// last of these lines is returned with an error, because it may explain the error.
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
		"server": &f.Server, "packer": &f.Packer, "fetcher": &f.Fetcher,
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
		switch {
		case key == "installed" && len(f.Installed) < maxInstalled:
			name, rest, _ := strings.Cut(value, " ")
			sum, version, _ := strings.Cut(rest, " ")
			f.Installed = append(f.Installed, Installed{name, sum, version})
		case field == nil:
			return f, fmt.Errorf("its shell prints an unexpected line: %q", line)
		default:
			*field = value
			delete(fields, key)
		}
	}
	if len(fields) > 0 {
		return f, errors.New("its shell does not report everything")
	}
	return f, nil
}

// readLine reads a line, and returns it without its line break.
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
