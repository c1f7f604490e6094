package golden

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/schedgen/schedgen"

// layers says which packages of the module each package may import. If several entries match a
// package, the first one counts. If no entry matches, that is an error: a new package needs an
// entry here.
//
// A pattern is a path below the module. "/..." at its end also covers the packages below it, as for
// the go command.
var layers = []struct {
	pkg    string
	may    []string
	reason string
}{
	{"ir", nil,
		"the representation stands below everything: a reader of schedules needs nothing else of ours"},
	{"internal/model/loggp", []string{"ir", "sim"},
		"the short form of one model of the simulator: it depends on nothing else"},
	{"internal/model/queue", nil,
		"the queue orders entries and knows nothing of their meaning"},
	{"internal/model/papers", []string{"schedule", "sim"},
		"figures come from models and the simulator: the caller passes in the runner of ranks"},
	{"internal/model/fit", []string{"sim"},
		"a fit of times to models does not depend on the source of the times"},
	{"internal/model/link", []string{"internal/model/queue"},
		"a link knows nothing of the data that crosses it"},
	{"network", nil,
		"a network is described without what is sent over it"},
	{"internal/foreign/dot", []string{"network"},
		"the runtime knows networks, and not the graphs of other programs"},
	{"internal/foreign/astra", []string{"network"},
		"the runtime knows networks, and not the files of other simulators"},
	{"internal/foreign/nccl", []string{"network"},
		"the runtime knows networks, and not the files of other libraries"},
	{"internal/foreign/slurm", []string{"internal/hostlist", "network"},
		"the runtime knows networks, and not the files of batch systems"},
	{"internal/flow", nil,
		"a flow knows nothing of what flows"},
	{"synth", []string{"ir", "internal/flow", "internal/model/grid", "network", "schedule/...", "sim"},
		"trees follow from the network alone, and rules from the simulator: checks, models and the runtime know nothing of either"},
	{"internal/adapt", nil,
		"the rule of the adaptive delay is the same in the runtime and in the simulator: it knows neither"},
	{"sim", []string{"ir", "internal/adapt", "internal/foreign/dag", "network", "internal/model/link", "internal/model/queue"},
		"a simulation needs programs and not their source: it serves schedules of ours, files of others and figures"},
	{"internal/ir/windows", []string{"ir"},
		"the places of flags follow from programs alone: generators and the runtime share one definition"},
	{"internal/ir/...", []string{"ir", "internal/ir/..."},
		"the shared parts of analyses depend on the representation alone"},
	{"internal/foreign/...", []string{"ir", "internal/ir/...", "internal/foreign/...", "internal/hostlist", "network"},
		"what files of other programs say depends on nothing of ours but the representation"},
	{"schedule/build", []string{"ir"},
		"a data flow becomes rules by itself: it knows no algorithm"},
	{"schedule", []string{"ir", "internal/ir/...", "schedule/build", "verify"},
		"the definition of an algorithm is apart from printers and the runtime; a registered one brings its proof"},
	{"schedule/selection", []string{"ir", "network", "sim", "schedule", "internal/forms", "runtime/wire"},
		"a choice needs collectives, algorithms and their costs, of which wire says what memory costs, but no runtime"},
	{"internal/model/grid", []string{"ir", "sim", "schedule", "schedule/selection"},
		"rules follow from times that are passed in: they do not depend on the way of measuring"},
	{"verify", []string{"ir", "internal/ir/...", "internal/foreign/dag"},
		"a proof that used the generator or the runtime would share their mistakes"},
	{"internal/engine", []string{"ir", "internal/ir/..."},
		"the C code follows from the schedule alone: written files and the library share one interpreter"},
	{"emit", []string{"ir", "internal/ir/...", "internal/foreign/...", "internal/engine"},
		"a printer shows what the schedule says, not what its generator meant"},
	{"runtime/machine/...", []string{"ir", "internal/ir/numbering", "internal/ir/windows"},
		"the machine is pure: the same one runs on a network, in virtual time and in every order"},
	{"runtime/wire", []string{"ir"},
		"the messages between communicator and transport stand below both"},
	{"internal/survey", nil,
		"a question at one rank needs only the shape of its tree, neither frames nor schedules"},
	{"internal/core/internal/...", nil,
		"time and sets of numbers stand below all parts of a core"},
	{"internal/core/agree", nil,
		"agreements are made of votes and messages: frames, time and failures are the core's"},
	{"internal/core/mismatch", []string{"internal/core/internal/..."},
		"calls are compared by their fingerprints and described by their words: plans, frames and failures are the core's"},
	{"internal/core/presence", []string{"internal/core/internal/..."},
		"presence follows from signs of life and the time: frames and failures are the core's"},
	{"internal/core/publish", []string{"internal/words", "ir", "internal/core/flow", "internal/core/internal/...", "internal/core/presence", "runtime/wire"},
		"what is published goes where frames and goodbyes tell: operations and the end of a communicator are the core's"},
	{"internal/core/flow", []string{"ir", "internal/core/internal/..."},
		"how far a sender goes ahead follows from reports and from the time: frames and operations are the core's"},
	{"internal/core/loss", []string{"ir", "internal/core/internal/..."},
		"what is lost and whom to ask follows from what arrives and from the time: frames and operations are the core's"},
	{"internal/core/lines", []string{"ir", "internal/ir/windows", "internal/core/internal/...", "runtime/wire"},
		"where signals and chunks stand follows from programs and from the size of a window: frames and operations are the core's"},
	{"internal/core", []string{"internal/adapt", "internal/words", "ir", "internal/ir/windows", "runtime/machine", "internal/core/...", "internal/survey", "runtime/wire"},
		"a rank's decisions depend on programs and frames; the choice of programs and the transport of frames are above it"},
	{"internal/clock", nil,
		"a clock stands below its users"},
	{"internal/fold", nil,
		"the fold of two vectors depends neither on their senders nor on its use"},
	{"internal/fold/exact", nil,
		"an exact sum depends on its numbers alone"},
	{"internal/fold/internal/asm", nil,
		"only go generate runs the program that writes assembly"},
	{"runtime", []string{"ir", "internal/ir/...", "network", "schedule/...", "verify", "runtime/machine/...", "internal/core", "internal/clock", "internal/meet/launch", "internal/outfile", "runtime/wire", "internal/transport/...", "internal/notice", "internal/board"},
		"transports are given to the runtime, which knows only their interface; Init asks launch for the one that the environment names; Use proves its argument"},
	{"internal/transport", []string{"internal/words", "runtime/hybrid", "runtime/mcast", "runtime/shm", "runtime/tcp", "runtime/verbs", "runtime/wire"},
		"a transport is opened by its name without knowing who asks"},
	{"internal/meet/launch", []string{"internal/words", "internal/clock", "internal/notice", "runtime/mcast", "runtime/tcp", "internal/transport", "runtime/verbs", "runtime/wire"},
		"a launcher knows how ranks reach each other, but not their later work"},
	{"internal/mpi", []string{"internal/engine", "internal/outfile", "schedule", "schedule/selection"},
		"a library in C runs tables: the runtime in Go, its transports and its threads are not in it"},
	{"internal/mpi/goengine", []string{"runtime", "internal/clock", "internal/fold", "internal/fold/exact", "internal/meet/launch", "runtime/mcast", "internal/mpi", "runtime/tcp", "internal/transport", "runtime/verbs", "runtime/wire", "schedule/selection"},
		"a program in C calls it: it joins ranks by transports and works like package runtime"},
	{"internal/simnet", []string{"ir", "schedule/...", "internal/model/link", "internal/model/queue", "runtime/machine", "runtime/wire", "internal/core"},
		"the simulator is a driver of cores, beside the communicator and without it"},
	{"internal/deep", nil,
		"a copy of a value does not depend on what the value is"},
	{"internal/explore", []string{"ir", "internal/deep", "internal/ir/fixpoint", "internal/ir/windows", "internal/core", "runtime/machine", "runtime/wire"},
		"an exploration steps a rank's decisions: it contains no driver and no transport of frames"},
	{"internal/transport/netpoll", nil,
		"a wait for descriptors does not depend on their owners"},
	{"internal/transport/reactor", []string{"internal/transport/netpoll", "runtime/wire"},
		"the reactor reports a ready descriptor, and its owner acts on it"},
	{"internal/transport/seal", nil,
		"seal knows neither the data that it seals nor their owner"},
	{"internal/transport/tcpopt", nil,
		"options of a connection do not depend on its use"},
	{"internal/notice", []string{"internal/clock"},
		"a notice gets its text from the code that waits"},
	{"internal/meet/internal/contact", []string{"internal/clock", "internal/notice", "internal/transport/seal", "internal/transport/tcpopt", "internal/version"},
		"the first contact of a guest with its host is the same in a tree and in a lobby"},
	{"internal/meet", []string{"ir", "internal/clock", "internal/notice", "internal/transport/seal", "internal/meet/internal/contact"},
		"the meeting of ranks does not depend on their later messages"},
	{"internal/meet/lobby", []string{"ir", "internal/clock", "internal/transport/tcpopt", "internal/meet/internal/contact"},
		"the lobby gives out ranks and knows nothing of their use"},
	{"internal/transport/stream", []string{"ir", "internal/clock", "internal/meet", "runtime/wire", "internal/transport/...", "internal/notice", "internal/board"},
		"connections are below the transports that are made of them"},
	{"internal/transport/datagram", []string{"ir", "internal/clock", "internal/meet", "runtime/wire", "internal/transport/...", "internal/notice", "internal/board"},
		"datagrams are below the transports that are made of them"},
	{"internal/transport/fragment", []string{"ir", "runtime/wire"},
		"the contents of a datagram do not depend on what carries the datagram"},
	{"internal/transport/rdma", []string{"ir", "internal/clock", "internal/meet", "runtime/wire", "internal/transport/fragment", "internal/transport/reactor", "internal/transport/stream", "internal/notice", "internal/board"},
		"the use of queue pairs is apart from the adapter: only ibv has C"},
	{"internal/transport/sets", []string{"runtime/wire"},
		"the rights to windows are apart from the memory of the windows"},
	{"internal/transport/pace", []string{"internal/clock", "internal/outfile", "internal/transport/store", "internal/transport/yield", "runtime/wire"},
		"what a machine costs is measured below the transports, and kept in a file"},
	{"internal/transport/segment", []string{"ir", "internal/clock", "runtime/wire", "internal/transport/pace", "internal/transport/sets", "internal/transport/store", "internal/transport/yield"},
		"shared memory is below the transports that use it, and knows nothing of sockets"},
	{"runtime/membership", nil,
		"the members of a group are plain data, below managers and their users"},
	{"internal/test/membershiptest", []string{"internal/clock", "runtime/membership"},
		"a suite knows the interface that it tests"},
	{"internal/test/ether", []string{"runtime/wire"},
		"frames are kept in the same way, whichever part of a rank sends them"},
	{"internal/test/etcdtest", []string{"internal/test/porttest"},
		"a service for tests knows nothing of its clients"},
	{"runtime/membership/...", []string{"internal/clock", "runtime/membership", "internal/board", "internal/notice"},
		"a manager knows the members of a group and nothing of their messages"},
	{"internal/board", []string{"runtime/membership"},
		"a wait for a view does not depend on its source"},
	{"runtime/group", []string{"runtime", "internal/clock", "internal/board", "runtime/membership", "runtime/wire"},
		"a group makes communicators of views: managers and transports are given to it"},
	{"internal/command/...", []string{"internal/command/...", "internal/terminal", "internal/version", "internal/words"},
		"the form of a command line does not depend on its verbs"},
	{"internal/terminal", []string{"internal/outfile", "internal/words"},
		"streams, progress and exit codes do not depend on the parser of command lines"},
	{"internal/outfile", nil,
		"a file appears whole, whoever writes it"},
	{"internal/test/ballast", nil,
		"garbage is collected in the same way in all tests"},
	{"internal/hostlist", nil,
		"lists of hosts have one form, whoever reads them: it depends on nothing else"},
	{"internal/test/heavy", []string{"internal/test/ballast"},
		"the time limit of tests is below all tests"},
	{"internal/version", nil,
		"all programs spell their build alike"},
	{"internal/test/hosttest", []string{"internal/test/heavy"},
		"hosts for tests do not depend on what runs on them"},
	{"internal/test/systemdtest", nil,
		"units are checked in the same way, whatever they start"},
	{"internal/words", nil,
		"the spelling of a number does not depend on what it counts"},
	{"internal/test/buildtest", nil,
		"a build of a program does not depend on what the program does"},
	{"internal/test/porttest", nil,
		"a held port does not depend on its later listener"},
	{"internal/test/netns", []string{"network"},
		"simulated hosts do not depend on what runs on them"},
	{"internal/test/mpitest", nil,
		"what an mpirun needs does not depend on the program"},
	{"internal/test/transporttest", []string{"internal/test/heavy", "ir", "schedule", "runtime/...", "internal/..."},
		"the suite runs every algorithm over a transport"},
	{"internal/transport/...", []string{"ir", "internal/clock", "internal/core", "internal/meet", "internal/notice", "internal/transport/...", "runtime/wire"},
		"what transports share moves slots: packages above it decide their use"},
	{"runtime/...", []string{"ir", "internal/clock", "internal/core", "internal/meet", "internal/notice", "internal/transport/...", "runtime/..."},
		"a transport moves slots: packages above it decide their use"},
	{"internal/cast/block", nil,
		"a set of lacked blocks does not depend on the contents of the blocks"},
	{"internal/cast/filter", nil,
		"a filter compares patterns with paths, and reads no files"},
	{"internal/cast/names", nil,
		"a sorted list of names does not depend on its use"},
	{"internal/cast/record", []string{"internal/cast/block", "internal/cast/filter"},
		"an encoding does not depend on the source of its data"},
	{"internal/cast/pack", []string{"internal/cast/block", "internal/cast/filter", "internal/cast/names", "internal/cast/record"},
		"a reader of trees knows neither the receivers nor the transport"},
	{"internal/cast/unpack", []string{"internal/cast/block", "internal/cast/filter", "internal/cast/names", "internal/cast/record"},
		"a writer of trees knows neither the sender nor the transport"},
	{"internal/cast", []string{"internal/cast/block", "internal/cast/pack", "internal/cast/record", "internal/cast/remote", "internal/cast/unpack", "internal/words", "runtime", "internal/clock", "internal/meet/lobby", "runtime/mcast", "runtime/tcp", "runtime/wire", "schedule"},
		"a cast to hosts starts receivers, joins them by a transport and sends by broadcasts; the command adds flags and words"},
	{"internal/cast/remote", []string{"internal/hostlist", "internal/words"},
		"the start of a program on a host does not depend on the program's work"},
	{"internal/cast/remote/sshdtest", []string{"internal/test/porttest"},
		"a server for tests does not depend on the tested code"},
	{".", []string{"ir", "network", "runtime", "internal/fold", "internal/fold/exact", "internal/clock", "internal/core", "runtime/machine", "runtime/wire", "schedule", "schedule/selection"},
		"the root package adds types to package runtime, which does the work: transports are given to it"},
	{"local", []string{".", "runtime/mem"},
		"local ranks use the API of programs, and memory for a network"},
	{"cli/...", []string{"..."},
		"the command, and commands with algorithms of a program's own, use everything"},
	{"cmd/schedcast", []string{"internal/cast/...", "internal/command/complete", "internal/command/manpage", "internal/command/syntax", "internal/terminal", "internal/version", "internal/words", "internal/meet/lobby", "runtime/tcp"},
		"the program is copied to hosts: it links neither the parser of schedgen nor what casts do not need"},
	{"cmd/...", []string{"..."},
		"the command joins everything"},
	{"golden/...", []string{"..."},
		"tests of the whole see everything"},
	{"examples/...", []string{".", "local", "ir/...", "schedule", "verify", "emit", "runtime/...", "examples/generated/..."},
		"an example imports only packages that a program outside of the module can import, and generated code"},
	{"internal/lab/...", []string{"..."},
		"the project's claims are about everything"},
	{"internal/source", []string{"emit", "internal/command/complete", "internal/terminal", "internal/forms", "internal/words", "ir", "internal/ir/...", "internal/foreign/...", "schedule"},
		"a schedule is found by its name or its file, before anything is known of its use"},
	{"internal/chart", nil,
		"a picture depends on its data alone"},
}

// homes says which packages may import a package from outside of the module. Tests may import any.
// Packages of the standard library may be imported anywhere unless homes lists them. All others
// must be listed.
var homes = []struct {
	imports []string
	in      []string
	reason  string
}{
	{[]string{"html/template", "text/template"}, nil,
		"a template calls methods by name, so a program with one carries all methods of all its types"},
	{[]string{"expvar"}, nil,
		"it shows the command line and all variables to whom http.DefaultServeMux answers; a program publishes what it wants itself"},
	{[]string{"go.opentelemetry.io/otel/..."}, []string{"runtime/otel"},
		"only a program that sends spans carries OpenTelemetry"},
	{[]string{"net/http/..."}, []string{"runtime/membership/etcd", "internal/test/etcdtest", "runtime/status", "cli/...", "cmd/..."},
		"a program that shows no status has no server in it, and a program without etcd has no client of it"},
	{[]string{"time", "unsafe"}, []string{".", "internal/test/buildtest", "internal/test/heavy", "internal/test/netns", "internal/test/porttest", "runtime/...", "internal/clock", "internal/core/...", "internal/deep", "internal/explore", "internal/fold/...", "internal/meet/...", "internal/mpi/...", "internal/notice", "internal/board", "internal/simnet", "internal/survey", "internal/test/...", "internal/transport/...", "internal/cast/...", "cli/...", "cmd/...", "internal/command/...", "internal/outfile", "internal/terminal", "examples/...", "internal/lab/...", "internal/source"},
		"ir, schedule, verify and emit are functions of their arguments; the module's root sees elements of any type as bytes, and has durations in its Config"},
	{[]string{"net/...", "os/...", "math/rand/...", "syscall"},
		[]string{"internal/test/buildtest", "internal/test/heavy", "internal/test/hosttest", "internal/test/mpitest", "internal/test/netns", "internal/test/porttest", "internal/test/systemdtest", "internal/version", "runtime/...", "internal/clock", "internal/core/...", "internal/explore", "internal/fold/...", "internal/meet/...", "internal/mpi/...", "internal/notice", "internal/board", "internal/simnet", "internal/survey", "internal/test/...", "internal/transport/...", "internal/cast/...", "cli/...", "cmd/...", "internal/command/...", "internal/outfile", "internal/terminal", "examples/...", "internal/lab/...", "internal/source"},
		"ir, schedule, verify and emit are functions of their arguments: the same input gives the same bytes on every machine"},
	{[]string{"crypto/aes", "crypto/cipher", "crypto/hkdf", "crypto/hmac", "golang.org/x/crypto/..."}, []string{"internal/transport/seal"},
		"one place makes keys, proofs and seals, and is small enough to be read"},
	{[]string{"C"}, []string{"internal/transport/ibv", "internal/mpi/goengine"},
		"the default build is pure Go"},
	{[]string{"testing/..."}, []string{"internal/*test", "internal/command/commandtest", "internal/lab/internal/labtest", "internal/test/heavy", "internal/test/*test", "internal/cast/remote/sshdtest"},
		"tools of tests stay out of the product; a suite that transports of others must pass is exported"},
	{[]string{"github.com/stretchr/testify/...", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/rogpeppe/go-internal/..."},
		[]string{"internal/*test", "internal/command/commandtest", "internal/lab/internal/labtest", "internal/test/heavy", "internal/test/*test", "internal/cast/remote/sshdtest"},
		"tools of tests stay out of the product; a suite that transports of others must pass is exported"},
	{[]string{"github.com/chromedp/..."}, nil,
		"only tests drive a browser"},
	{[]string{"gonum.org/v1/gonum/stat/..."}, []string{"internal/model/fit"},
		"one place computes uncertainty, apart from measuring and deciding"},
	{[]string{"go.yaml.in/yaml/..."}, []string{"internal/foreign/astra"},
		"only networks of ASTRA-sim are YAML, and one package reads them"},
	{[]string{"gonum.org/v1/gonum/graph/formats/..."}, []string{"internal/foreign/dot"},
		"one place reads graphs of other programs"},
	{[]string{"gonum.org/v1/gonum/..."}, []string{"emit"},
		"graphs are for analysis and drawing: checks, the runtime and the generators walk the schedule itself"},
	{[]string{"github.com/dave/jennifer/..."}, []string{"emit"},
		"only emit writes Go"},
	{[]string{"google.golang.org/protobuf/..."}, []string{"internal/foreign/chakra"},
		"only traces of Chakra are protobuf, and one package reads and writes them"},
	{[]string{"github.com/alecthomas/kong"}, []string{"cli/...", "cmd/...", "internal/command", "internal/command/commandtest", "internal/lab/..."},
		"only the command has a command line; completion and manual pages do not depend on its parser"},
	{[]string{"github.com/spf13/pflag"}, []string{"cmd/schedcast"},
		"kong makes the linker keep every exported method, which is too much for a program that is copied to hosts"},
	{[]string{"golang.org/x/term"}, []string{"internal/terminal"},
		"only the command talks to a person"},
	{[]string{"github.com/HdrHistogram/hdrhistogram-go"}, []string{"cli/...", "cmd/...", "internal/lab/..."},
		"the runtime reports events, and a program that wants figures counts them"},
	{[]string{"golang.org/x/net/..."}, []string{"internal/transport/datagram"},
		"only multicast needs more of a socket than the standard library gives"},
	{[]string{"golang.org/x/sys/..."}, []string{"runtime/...", "internal/clock", "internal/core/...", "internal/explore", "internal/fold/...", "internal/meet/...", "internal/mpi/...", "internal/notice", "internal/board", "internal/simnet", "internal/survey", "internal/test/...", "internal/transport/...", "internal/cast/pack", "internal/cast/unpack"},
		"system calls are for the transports, and for files with holes and reserved space"},
	{[]string{"github.com/mmcloughlin/avo/..."}, []string{"internal/fold/internal/asm"},
		"the writer of assembly is a module of its own: nothing in the product depends on it"},
	{[]string{"github.com/klauspost/compress/..."}, []string{"internal/cast"},
		"only a sender of files must compress for slow networks"},
	{[]string{"golang.org/x/time/rate"}, []string{"internal/cast"},
		"only a sender of files must limit its rate"},
}

// impure lists packages that must not use some packages although they belong to the runtime.
var impure = []struct {
	pkg     string
	imports []string
	reason  string
}{
	{"runtime/machine/...",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "io", "bufio", "context", "sync/...", "golang.org/x/sys/..."},
		"the machine takes events and returns actions: clock, randomness and locks belong to its caller"},
	{"internal/core/...",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "io", "bufio", "context", "sync/...", "golang.org/x/sys/..."},
		"the core is stepped: the same one runs under a communicator, on a simulated network and through every order of events"},
	{"internal/simnet",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "context", "sync/...", "golang.org/x/sys/..."},
		"a run depends on its scenario alone: it has its own time and randomness, and is one goroutine"},
	{"cli/internal/crew",
		[]string{"github.com/alecthomas/kong", "golang.org/x/term", "text/tabwriter"},
		"flags and printing are the command's: a crew is given a job"},
	{"internal/explore",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "io", "bufio", "sync/...", "golang.org/x/sys/..."},
		"an exploration has neither time nor randomness: the same options give the same report"},
}

// matches reports whether p is within one of the patterns.
func matches(patterns []string, p string) bool {
	for _, pattern := range patterns {
		if parent, below := strings.CutSuffix(pattern, "..."); below {
			if strings.HasPrefix(p+"/", parent) {
				return true
			}
		} else if ok, err := path.Match(pattern, p); err == nil && ok {
			return true
		}
	}
	return false
}

// why returns the reason why package pkg, a path below the module, may not import another one. It
// returns "" if it may.
func why(pkg, imported string) string {
	if imported == module {
		return whyOurs(pkg, ".")
	}
	if below, ours := strings.CutPrefix(imported, module+"/"); ours {
		return whyOurs(pkg, below)
	}
	for _, i := range impure {
		if matches([]string{i.pkg}, pkg) && matches(i.imports, imported) {
			return i.reason
		}
	}
	for _, h := range homes {
		if matches(h.imports, imported) {
			if matches(h.in, pkg) {
				return ""
			}
			return fmt.Sprintf("%s (only in %s)", h.reason, strings.Join(h.in, ", "))
		}
	}
	if host, _, _ := strings.Cut(imported, "/"); strings.Contains(host, ".") {
		return "a package from outside of the module that homes does not list: add it there with a reason"
	}
	return ""
}

func whyOurs(pkg, imported string) string {
	for _, l := range layers {
		if matches([]string{l.pkg}, pkg) {
			if matches(l.may, imported) {
				return ""
			}
			return l.reason
		}
	}
	return "a package that layers does not list: add it there with a reason"
}

// imported is one import declaration of a file that is not a test.
type imported struct {
	pkg  string // path of the package below the module
	at   string // file and line
	name string // name that the declaration gives, if any
	path string
}

// importsOf returns all import declarations below root, for all build constraints.
func importsOf(root string) ([]imported, error) {
	var all []imported
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, file, d.Name())
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found, err := importsIn(fset, root, file)
		all = append(all, found...)
		return err
	})
	return all, err
}

// skipDir skips the folders that the go command skips.
func skipDir(root, dir, name string) error {
	if dir != root && (name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_') {
		return fs.SkipDir
	}
	return nil
}

func importsIn(fset *token.FileSet, root, file string) ([]imported, error) {
	below, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(fset, file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var found []imported
	for _, spec := range tree.Imports {
		unquoted, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", below, err)
		}
		i := imported{
			pkg:  path.Dir(filepath.ToSlash(below)),
			at:   fmt.Sprintf("%s:%d", filepath.ToSlash(below), fset.Position(spec.Pos()).Line),
			path: unquoted,
		}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		found = append(found, i)
	}
	return found, nil
}

func TestImports(t *testing.T) {
	all, err := importsOf("..")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, i := range all {
		if reason := why(i.pkg, i.path); reason != "" {
			t.Errorf("%s: imports %q\n\t%s", i.at, i.path, reason)
		}
	}
}

// TestStandardRuntimeIsNamed checks that the standard package runtime has another name in every
// import. The module's package runtime shadows it.
func TestStandardRuntimeIsNamed(t *testing.T) {
	all, err := importsOf("..")
	require.NoError(t, err)
	for _, i := range all {
		if i.path == "runtime" && i.name != "goruntime" {
			t.Errorf("%s: import the standard package runtime as goruntime: ours has the same name", i.at)
		}
	}
}

// whys has imports and the expected objections. An empty objection means that the import is
// allowed.
var whys = []struct{ pkg, imported, want string }{
	{"ir", "fmt", ""},
	{"ir", "strings", ""},
	{"ir", "os", "functions of their arguments"},
	{"ir", "os/exec", "functions of their arguments"},
	{"ir", "math/bits", ""},
	{"ir", "math/rand/v2", "functions of their arguments"},
	{"ir", "unsafe", "functions of their arguments"},
	{"ir", module + "/internal/ir/fixpoint", "stands below everything"},
	{"internal/ir/fixpoint", module + "/ir", ""},
	{"internal/ir/fixpoint", module + "/verify", "on the representation alone"},
	{"internal/model/loggp", module + "/sim", ""},
	{"sim", module + "/internal/model/queue", ""},
	{"sim", module + "/schedule", "not their source"},
	{"sim", module + "/internal/simnet", "not their source"},
	{"sim", "time", "functions of their arguments"},
	{"sim", "math/rand/v2", "functions of their arguments"},
	{"internal/model/fit", module + "/sim", ""},
	{"internal/model/fit", "gonum.org/v1/gonum/stat/distuv", ""},
	{"internal/model/fit", "time", "functions of their arguments"},
	{"internal/model/grid", "gonum.org/v1/gonum/stat", "only in internal/model/fit"},
	{"internal/model/grid", module + "/runtime", "passed in"},
	{"internal/model/queue", module + "/ir", "nothing of their meaning"},
	{"internal/model/link", module + "/sim", "nothing of the data"},
	{"internal/simnet", module + "/internal/model/link", ""},
	{"internal/model/loggp", module + "/internal/foreign/goal", "depends on nothing else"},
	{"internal/model/loggp", "time", "functions of their arguments"},
	{"internal/model/loggp", "os", "functions of their arguments"},
	{"internal/model/loggp", "math/rand/v2", "functions of their arguments"},
	{"schedule", module + "/verify", ""},
	{"schedule", "net/netip", "functions of their arguments"},
	{"verify", module + "/schedule", "share their mistakes"},
	{"emit", "gonum.org/v1/gonum/graph/topo", ""},
	{"schedule", "gonum.org/v1/gonum/graph/topo", "only in emit"},
	{"emit", "github.com/dave/jennifer/jen", ""},
	{"cli", "github.com/dave/jennifer/jen", "only emit writes Go"},
	{"examples/generated", module + "/examples/generated/bcast8", ""},
	{"examples/generated/bcast8", module + "/runtime/machine", ""},
	{"emit", module + "/runtime/machine", "what the schedule says"},
	{"emit", "time", "functions of their arguments"},
	{"runtime", module + "/schedule", ""},
	{"runtime", module + "/runtime/tcp", "transports are given"},
	{"runtime", module + "/verify", ""},
	{"runtime", module + "/emit", "transports are given"},
	{"runtime", "net/http", "has no server in it"},
	{"runtime", "go.opentelemetry.io/otel/trace", "only a program that sends spans"},
	{"runtime/otel", "go.opentelemetry.io/otel/trace", ""},
	{"runtime/status", "expvar", "the command line"},
	{"runtime/status", "html/template", "calls methods by name"},
	{"runtime", "log/slog", ""},
	{"runtime/status", "net/http", ""},
	{"runtime/status", module + "/runtime", ""},
	{"runtime/tcp", "net/http/httptest", "has no server in it"},
	{"runtime", "golang.org/x/net/ipv4", "only multicast"},
	{"internal/transport/datagram", "golang.org/x/net/ipv4", ""},
	{"runtime/mcast", "golang.org/x/net/ipv4", "only multicast"},
	{"internal/transport/datagram", module + "/internal/transport/stream", ""},
	{"internal/transport/datagram", module + "/runtime/mcast", "below the transports"},
	{"internal/transport/fragment", module + "/internal/transport/seal", "what carries the datagram"},
	{"internal/transport/stream", module + "/runtime/tcp", "below the transports"},
	{"internal/transport/reactor", module + "/internal/transport/stream", "its owner acts"},
	{"internal/meet", module + "/runtime/wire", "the meeting of ranks"},
	{"internal/transport/netpoll", module + "/runtime/wire", "depend on their owners"},
	{"internal/meet", module + "/internal/transport/seal", ""},
	{"internal/meet", module + "/internal/meet/lobby", "the meeting of ranks"},
	{"internal/meet/lobby", module + "/internal/meet", "nothing of their use"},
	{"internal/meet/internal/contact", module + "/internal/meet", "the first contact"},
	{"internal/transport/seal", module + "/runtime/wire", "nor their owner"},
	{"internal/transport/tcpopt", module + "/runtime/wire", "depend on its use"},
	{"internal/transport/seal", "crypto/cipher", ""},
	{"internal/transport/stream", "crypto/cipher", "small enough to be read"},
	{"internal/meet", "crypto/rand", ""},
	{"runtime/mcast", module + "/runtime", ""},
	{"runtime", module + "/internal/meet/launch", ""},
	{"internal/meet/launch", module + "/internal/transport", ""},
	{"internal/meet/launch", module + "/runtime", "how ranks reach each other"},
	{"runtime/mcast", module + "/schedule", "moves slots"},
	{"runtime/tcp", "golang.org/x/sys/unix", ""},
	{"internal/transport/segment", "unsafe", ""},
	{"internal/transport/segment", module + "/internal/transport/yield", ""},
	{"internal/transport/segment", module + "/internal/transport/reactor", "nothing of sockets"},
	{"runtime/shm", module + "/schedule", "moves slots"},
	{"cli", "golang.org/x/sys/unix", "for the transports"},
	{"runtime/tcp", "C", "pure Go"},
	{"internal/transport/rdma", "C", "pure Go"},
	{"internal/transport/rdma", module + "/internal/transport/ibv", "apart from the adapter"},
	{"internal/transport/ibv", "C", ""},
	{"internal/fold", "golang.org/x/sys/cpu", ""},
	{"internal/fold", "unsafe", ""},
	{"internal/fold", "github.com/mmcloughlin/avo/build", "a module of its own"},
	{"internal/fold", module + "/runtime/wire", "on their senders"},
	{"internal/fold/exact", module + "/internal/fold", "on its numbers alone"},
	{"internal/fold/exact", "unsafe", ""},
	{"internal/fold/internal/asm", "github.com/mmcloughlin/avo/build", ""},
	{"runtime/machine", "time", "takes events"},
	{"runtime/machine", "sync/atomic", "takes events"},
	{"runtime/machine", module + "/runtime", "the machine is pure"},
	{"internal/simnet", "time", "on its scenario alone"},
	{"internal/simnet", module + "/schedule", ""},
	{"internal/simnet", module + "/runtime", "beside the communicator"},
	{"internal/core", module + "/internal/core/agree", ""},
	{"internal/core/agree", module + "/internal/core", "made of votes and messages"},
	{"internal/core/agree", module + "/runtime/wire", "made of votes and messages"},
	{"internal/core/agree", "time", "the core is stepped"},
	{"internal/core/agree", module + "/internal/core/presence", "made of votes and messages"},
	{"internal/core/presence", module + "/internal/core/internal/moment", ""},
	{"internal/core/flow", module + "/ir", ""},
	{"internal/core/flow", module + "/internal/core/loss", "from reports and from the time"},
	{"internal/core/lines", module + "/internal/ir/windows", ""},
	{"internal/core/lines", module + "/runtime/machine", "from programs and from the size of a window"},
	{"internal/core/loss", module + "/ir", ""},
	{"internal/core/loss", module + "/internal/core/flow", "from what arrives and from the time"},
	{"internal/core/loss", module + "/runtime/wire", "from what arrives and from the time"},
	{"internal/core/mismatch", module + "/runtime/wire", "are the core's"},
	{"internal/core/presence", module + "/runtime/wire", "signs of life"},
	{"internal/explore", module + "/internal/core", ""},
	{"internal/explore", module + "/runtime", "contains no driver"},
	{"internal/explore", "time", "neither time nor randomness"},
	{"internal/test/transporttest", "testing", ""},
	{"internal/test/transporttest", module + "/internal/test/heavy", ""},
	{"runtime", module + "/internal/test/heavy", "transports are given"},
	{"internal/test/membershiptest", "testing", ""},
	{"runtime/membership/etcd", "net/http", ""},
	{"internal/test/etcdtest", module + "/runtime/membership", "nothing of its clients"},
	{"runtime/membership/etcd", "go.etcd.io/etcd/client/v3", "homes does not list"},
	{"runtime/membership/file", module + "/runtime/wire", "nothing of their messages"},
	{"runtime/group", module + "/runtime/membership/embedded", "managers and transports are given"},
	{"runtime/group", module + "/runtime/tcp", "managers and transports are given"},
	{"runtime", module + "/runtime/group", "transports are given"},
	{"runtime/tcp", "testing", "out of the product"},
	{"runtime", "github.com/alecthomas/kong", "only the command"},
	{"internal/cast", module + "/runtime", ""},
	{"internal/cast", module + "/runtime/tcp", ""},
	{"internal/cast", module + "/verify", "joins them by a transport"},
	{"internal/cast/record", module + "/internal/cast/pack", "the source of its data"},
	{"internal/cast/remote", module + "/internal/cast", "on the program's work"},
	{"internal/cast/remote/sshdtest", "testing", ""},
	{"internal/cast/unpack", module + "/internal/cast", "neither the sender"},
	{"internal/cast/unpack", "golang.org/x/sys/unix", ""},
	{"runtime", "golang.org/x/time/rate", "only a sender of files"},
	{"cli", "github.com/alecthomas/kong", ""},
	{"cli", "github.com/nobody/knows", "homes does not list"},
	{".", module + "/runtime", ""},
	{".", "unsafe", ""},
	{".", "net", "functions of their arguments"},
	{".", module + "/runtime/tcp", "transports are given"},
	{".", module + "/verify", "package runtime, which does the work"},
	{"runtime", module, "transports are given"},
	{"examples/hello", module, ""},
	{"misc", module + "/ir", "layers does not list"},
}

// TestWhy tests the rules themselves, on imports that occur in no file.
func TestWhy(t *testing.T) {
	for _, c := range whys {
		got := why(c.pkg, c.imported)
		if c.want == "" {
			require.Empty(t, got, "%s imports %s", c.pkg, c.imported)
		} else {
			require.Contains(t, got, c.want, "%s imports %s", c.pkg, c.imported)
		}
	}
}
