// Package forms recognises files by their contents: schedules and rules, of this product and of
// others. So a reader of another kind of file can tell its user what the file is. Otherwise it
// could only name the place where the file stops to fit its syntax.
package forms

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
)

// Form is a form of files. As text it describes a file, with an article.
type Form string

// These are the forms.
const (
	Unknown Form = ""

	// Forms of schedules.
	Text    Form = "a schedule of schedgen as text"
	JSON    Form = "a schedule of schedgen as JSON"
	GOAL    Form = "a schedule in GOAL"
	MSCCL   Form = "a schedule in MSCCL XML"
	MSCCLPP Form = "an execution plan of MSCCL++"
	Chakra  Form = "an execution trace of Chakra"

	// Forms of rules that choose algorithms.
	Rules        Form = "a table of rules of schedgen"
	OpenMPITuned Form = "a table of rules of Open MPI's component tuned"
	OpenMPIHAN   Form = "a table of rules of Open MPI's component han"
	MPICH        Form = "a selection file of MPICH"
	NCCLTuner    Form = "a configuration file of NCCL's tuner"

	// Other files that users keep beside these.
	NCCLTopology Form = "a topology or graph of NCCL"
	Trace        Form = "a trace of events"
	SVG          Form = "an SVG picture"
	HTML         Form = "an HTML page"
	DOT          Form = "a graph for Graphviz"
	Go           Form = "Go code"
)

// IsSchedule reports whether a file of the form holds a schedule.
func (f Form) IsSchedule() bool {
	return slices.Contains([]Form{Text, JSON, GOAL, MSCCL, MSCCLPP, Chakra}, f)
}

// IsRules reports whether a file of the form chooses algorithms.
func (f Form) IsRules() bool {
	return slices.Contains([]Form{Rules, OpenMPITuned, OpenMPIHAN, MPICH, NCCLTuner}, f)
}

// File describes a file by its beginning.
type File struct {
	Form Form
	// Collective is the collective that a schedule of schedgen or an execution plan of MSCCL++
	// names. For other files it is "".
	Collective string
}

// Look describes a file by its contents. The beginning of a longer file is enough: some kilobytes
// suffice for all forms, except to tell tables of numbers of Open MPI apart. These need the whole
// file. The form is Unknown if nothing tells.
func Look(head []byte) File {
	if isTrace(head) {
		return File{Form: Chakra}
	}
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	if len(head) > 0 && head[0] == '{' {
		return lookJSON(head)
	}
	if f := lookMarkup(head); f != Unknown {
		return File{Form: f}
	}
	code, commented := afterComments(head)
	first := firstLine(code)
	word, _, _ := strings.Cut(first, " ")
	switch {
	case word == "package":
		return File{Form: Go}
	case word == "num_ranks" || commented:
		return File{Form: GOAL}
	case word == "schedule":
		collective, _, _ := strings.Cut(strings.TrimSpace(first[len(word):]), "/")
		return File{Text, collective}
	case word == "digraph" || word == "graph":
		return File{Form: DOT}
	case strings.HasPrefix(word, "rule-file-version-"):
		return File{Form: OpenMPITuned}
	case isNCCLRow(first):
		return File{Form: NCCLTuner}
	}
	return File{Form: lookNumbers(head)}
}

// isTrace reports whether a file begins like a trace of Chakra: with the length of a protobuf
// message, and in it a short version as field 1, or an attribute as field 2 whose name is field 1.
func isTrace(head []byte) bool {
	const version, attribute, name = 1<<3 | 2, 2<<3 | 2, 1<<3 | 2
	length, n := binary.Uvarint(head)
	if n <= 0 || len(head) <= n {
		return false
	}
	tag := head[n]
	size, k := binary.Uvarint(head[n+1:])
	if k <= 0 || size == 0 || length < uint64(1+k) || size > length-uint64(1+k) {
		return false
	}
	rest := head[n+1+k:]
	switch tag {
	case version:
		const longest = 31
		if size > longest || uint64(len(rest)) < size {
			return false
		}
		alone := size == length-uint64(1+k)
		return alone || uint64(len(rest)) > size && rest[size] == attribute
	case attribute:
		return len(rest) > 0 && rest[0] == name
	}
	return false
}

// lookMarkup recognises files that begin with an element.
func lookMarkup(head []byte) Form {
	text := afterProlog(head)
	if end := bytes.IndexAny(text, " \t\r\n/>"); end > 0 {
		text = text[:end]
	}
	switch strings.ToLower(string(text)) {
	case "<algo":
		return MSCCL
	case "<svg":
		return SVG
	case "<html", "<!doctype":
		return HTML
	case "<system", "<graphs":
		return NCCLTopology
	}
	return Unknown
}

// afterProlog returns an XML document from its first element on.
func afterProlog(head []byte) []byte {
	for {
		head = bytes.TrimLeft(head, " \t\r\n")
		end := ""
		switch {
		case bytes.HasPrefix(head, []byte("<?")):
			end = "?>"
		case bytes.HasPrefix(head, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(head, []byte("<")):
			return head
		default:
			return nil
		}
		_, rest, ends := bytes.Cut(head, []byte(end))
		if !ends {
			return nil
		}
		head = rest
	}
}

// afterComments returns a text without the comments of GOAL or Go at its beginning. It reports
// whether there are any.
func afterComments(head []byte) (rest []byte, commented bool) {
	for rest = head; ; commented = true {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		end := "\n"
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
		case bytes.HasPrefix(rest, []byte("/*")):
			end = "*/"
		default:
			return rest, commented
		}
		_, rest, _ = bytes.Cut(rest, []byte(end))
	}
}

// firstLine returns the first line that is more than a comment. Comments begin with #.
func firstLine(head []byte) string {
	for line := range bytes.Lines(head) {
		text, _, _ := strings.Cut(string(line), "#")
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}

// isNCCLRow reports whether a line is a row, or the head, of a configuration of NCCL's tuner:
// collective,min bytes,max bytes,algorithm,protocol,channels,nodes,ranks,…
func isNCCLRow(line string) bool {
	fields := strings.Split(line, ",")
	if len(fields) < 8 {
		return false
	}
	known := []string{"collective_type", "allreduce", "broadcast", "reduce", "allgather", "reducescatter"}
	return slices.Contains(known, strings.ToLower(strings.TrimSpace(fields[0])))
}

// lookJSON recognises objects by the names of their fields. The object may end too early.
func lookJSON(head []byte) File {
	var names []string
	texts := make(map[string]string)
	dec := json.NewDecoder(bytes.NewReader(head))
	depth, name, isName := 0, "", false
	for {
		t, err := dec.Token()
		if err != nil {
			break
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
			isName = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isName = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		text, isText := t.(string)
		if isName && isText {
			name = text
			names = append(names, name)
		} else if isText {
			texts[name] = text
		}
		isName = !isName
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	switch format := texts["format"]; {
	case strings.HasPrefix(format, "schedgen-rules/"):
		return File{Form: Rules}
	case strings.HasPrefix(format, "schedgen/"):
		return File{JSON, texts["collective"]}
	case has("rule_file_version"):
		return File{Form: OpenMPITuned}
	case has("gpus") && has("protocol"), has("gpus") && has("num_chunks"), has("gpus") && texts["collective"] != "":
		return File{MSCCLPP, texts["collective"]}
	case slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "collective=") }):
		return File{Form: MPICH}
	case has("traceEvents"):
		return File{Form: Trace}
	}
	return File{}
}
