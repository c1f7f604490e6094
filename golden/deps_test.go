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
	{"sim/loggp", []string{"ir", "sim"},
		"the short form of one model of the simulator: it depends on nothing else"},
	{"sim/queue", nil,
		"the queue orders entries and knows nothing of their meaning"},
	{"sim/papers", []string{"schedule", "sim"},
		"figures come from models and the simulator: the caller passes in the runner of ranks"},
	{"sim/fit", []string{"sim"},
		"a fit of times to models does not depend on the source of the times"},
	{"sim/link", []string{"sim/queue"},
		"a link knows nothing of the data that crosses it"},
	{"network", nil,
		"a network is described without what is sent over it"},
	{"network/dot", []string{"network"},
		"the runtime knows networks, and not the graphs of other programs"},
	{"network/astra", []string{"network"},
		"the runtime knows networks, and not the files of other simulators"},
	{"network/nccl", []string{"network"},
		"the runtime knows networks, and not the files of other libraries"},
	{"network/slurm", []string{"internal/hostlist", "network"},
		"the runtime knows networks, and not the files of batch systems"},
	{"network/flow", nil,
		"a flow knows nothing of what flows"},
	{"synth", []string{"ir", "network/...", "schedule/...", "sim"},
		"trees follow from the network alone, and rules from the simulator: checks, models and the runtime know nothing of either"},
	{"sim", []string{"ir", "ir/dag", "network", "sim/link", "sim/queue"},
		"a simulation needs programs and not their source: it serves schedules of ours, files of others and figures"},
	{"ir/windows", []string{"ir"},
		"the places of flags follow from programs alone: generators and the runtime share one definition"},
	{"ir/...", []string{"ir/..."},
		"the shared parts of analyses depend on the representation alone"},
	{"schedule/build", []string{"ir"},
		"a data flow becomes rules by itself: it knows no algorithm"},
	{"schedule", []string{"ir/...", "schedule/build", "verify"},
		"the definition of an algorithm is apart from printers and the runtime; a registered one brings its proof"},
	{"schedule/selection", []string{"ir", "network", "sim", "schedule", "internal/forms"},
		"a choice needs collectives, algorithms and their costs, but no runtime"},
	{"schedule/selection/grid", []string{"ir", "sim", "schedule", "schedule/selection"},
		"rules follow from times that are passed in: they do not depend on the way of measuring"},
	{"verify", []string{"ir/..."},
		"a proof that used the generator or the runtime would share their mistakes"},
	{"emit/engine", []string{"ir/..."},
		"the C code follows from the schedule alone: written files and the library share one interpreter"},
	{"emit", []string{"ir/...", "emit/engine"},
		"a printer shows what the schedule says, not what its generator meant"},
	{"runtime/machine/...", []string{"ir", "ir/numbering", "ir/windows"},
		"the machine is pure: the same one runs on a network, in virtual time and in every order"},
	{"runtime/wire", []string{"ir"},
		"the messages between communicator and transport stand below both"},
	{"runtime/survey", nil,
		"a question at one rank needs only the shape of its tree, neither frames nor schedules"},
	{"runtime/core/internal/encode", []string{"runtime/core/internal/bitset"},
		"the form of a state needs nothing but what is in it"},
	{"runtime/core/internal/...", nil,
		"time and sets of numbers stand below all parts of a core"},
	{"runtime/core/agree", []string{"runtime/core/internal/encode"},
		"agreements are made of votes and messages: frames, time and failures are the core's"},
	{"runtime/core/mismatch", []string{"runtime/core/internal/..."},
		"calls are compared by their fingerprints and described by their words: plans, frames and failures are the core's"},
	{"runtime/core/presence", []string{"runtime/core/internal/..."},
		"presence follows from signs of life and the time: frames and failures are the core's"},
	{"runtime/core/publish", []string{"internal/words", "ir", "runtime/core/flow", "runtime/core/internal/...", "runtime/core/presence", "runtime/wire"},
		"what is published goes where frames and goodbyes tell: operations and the end of a communicator are the core's"},
	{"runtime/core/flow", []string{"ir", "runtime/core/internal/..."},
		"how far a sender goes ahead follows from reports and from the time: frames and operations are the core's"},
	{"runtime/core/loss", []string{"ir", "runtime/core/internal/..."},
		"what is lost and whom to ask follows from what arrives and from the time: frames and operations are the core's"},
	{"runtime/core/lines", []string{"ir", "ir/windows", "runtime/core/internal/...", "runtime/wire"},
		"where signals and chunks stand follows from programs and from the size of a window: frames and operations are the core's"},
	{"runtime/core", []string{"internal/words", "ir", "ir/windows", "runtime/machine", "runtime/core/...", "runtime/survey", "runtime/wire"},
		"a rank's decisions depend on programs and frames; the choice of programs and the transport of frames are above it"},
	{"runtime/clock", nil,
		"a clock stands below its users"},
	{"runtime/fold", nil,
		"the fold of two vectors depends neither on their senders nor on its use"},
	{"runtime/fold/exact", nil,
		"an exact sum depends on its numbers alone"},
	{"runtime/fold/internal/asm", nil,
		"only go generate runs the program that writes assembly"},
	{"runtime", []string{"ir/...", "network", "schedule/...", "verify", "runtime/machine/...", "runtime/core", "runtime/clock", "runtime/meet/launch", "runtime/wire", "runtime/internal/..."},
		"transports are given to the runtime, which knows only their interface; Init asks launch for the one that the environment names; Use proves its argument"},
	{"runtime/transport", []string{"internal/words", "runtime/hybrid", "runtime/mcast", "runtime/shm", "runtime/tcp", "runtime/verbs", "runtime/wire"},
		"a transport is opened by its name without knowing who asks"},
	{"runtime/meet/launch", []string{"internal/words", "runtime/clock", "runtime/internal/notice", "runtime/mcast", "runtime/tcp", "runtime/transport", "runtime/verbs", "runtime/wire"},
		"a launcher knows how ranks reach each other, but not their later work"},
	{"runtime/mpi", []string{"emit/engine", "schedule"},
		"a library in C runs tables: the runtime in Go, its transports and its threads are not in it"},
	{"runtime/mpi/goengine", []string{"runtime", "runtime/clock", "runtime/fold", "runtime/meet/launch", "runtime/mcast", "runtime/mpi", "runtime/tcp", "runtime/transport", "runtime/verbs", "runtime/wire"},
		"a program in C calls it: it joins ranks by transports and works like package runtime"},
	{"runtime/simnet", []string{"ir", "schedule/...", "sim/link", "sim/queue", "runtime/machine", "runtime/wire", "runtime/core"},
		"the simulator is a driver of cores, beside the communicator and without it"},
	{"runtime/explore", []string{"ir", "ir/fixpoint", "ir/windows", "runtime/core", "runtime/machine", "runtime/wire"},
		"an exploration steps a rank's decisions: it contains no driver and no transport of frames"},
	{"runtime/internal/netpoll", nil,
		"a wait for descriptors does not depend on their owners"},
	{"runtime/internal/reactor", []string{"runtime/internal/netpoll", "runtime/wire"},
		"the reactor reports a ready descriptor, and its owner acts on it"},
	{"runtime/internal/seal", nil,
		"seal knows neither the data that it seals nor their owner"},
	{"runtime/internal/tcpopt", nil,
		"options of a connection do not depend on its use"},
	{"runtime/internal/notice", []string{"runtime/clock"},
		"a notice gets its text from the code that waits"},
	{"runtime/meet/internal/contact", []string{"runtime/clock", "runtime/internal/notice", "runtime/internal/seal", "runtime/internal/tcpopt"},
		"the first contact of a guest with its host is the same in a tree and in a lobby"},
	{"runtime/meet", []string{"ir", "runtime/clock", "runtime/internal/notice", "runtime/internal/seal", "runtime/meet/internal/contact"},
		"the meeting of ranks does not depend on their later messages"},
	{"runtime/meet/lobby", []string{"ir", "runtime/clock", "runtime/internal/tcpopt", "runtime/meet/internal/contact"},
		"the lobby gives out ranks and knows nothing of their use"},
	{"runtime/internal/stream", []string{"ir", "runtime/clock", "runtime/meet", "runtime/wire", "runtime/internal/..."},
		"connections are below the transports that are made of them"},
	{"runtime/internal/datagram", []string{"ir", "runtime/clock", "runtime/meet", "runtime/wire", "runtime/internal/..."},
		"datagrams are below the transports that are made of them"},
	{"runtime/internal/fragment", []string{"ir", "runtime/wire"},
		"the contents of a datagram do not depend on what carries the datagram"},
	{"runtime/internal/rdma", []string{"ir", "runtime/clock", "runtime/meet", "runtime/wire", "runtime/internal/..."},
		"the use of queue pairs is apart from the adapter: only verbs has C"},
	{"runtime/internal/sets", []string{"runtime/wire"},
		"the rights to windows are apart from the memory of the windows"},
	{"runtime/internal/segment", []string{"ir", "runtime/clock", "runtime/wire", "runtime/internal/sets", "runtime/internal/yield"},
		"shared memory is below the transports that use it, and knows nothing of sockets"},
	{"runtime/membership", nil,
		"the members of a group are plain data, below managers and their users"},
	{"runtime/membership/membershiptest", []string{"runtime/clock", "runtime/membership"},
		"a suite knows the interface that it tests"},
	{"runtime/membership/etcdtest", []string{"internal/porttest"},
		"a service for tests knows nothing of its clients"},
	{"runtime/membership/...", []string{"runtime/clock", "runtime/membership", "runtime/internal/board", "runtime/internal/notice"},
		"a manager knows the members of a group and nothing of their messages"},
	{"runtime/internal/board", []string{"runtime/membership"},
		"a wait for a view does not depend on its source"},
	{"runtime/group", []string{"runtime", "runtime/clock", "runtime/internal/board", "runtime/membership", "runtime/wire"},
		"a group makes communicators of views: managers and transports are given to it"},
	{"internal/command/...", []string{"internal/command/...", "internal/terminal", "internal/version", "internal/words"},
		"the form of a command line does not depend on its verbs"},
	{"internal/terminal", []string{"internal/outfile", "internal/words"},
		"streams, progress and exit codes do not depend on the parser of command lines"},
	{"internal/outfile", nil,
		"a file appears whole, whoever writes it"},
	{"internal/ballast", nil,
		"garbage is collected in the same way in all tests"},
	{"internal/hostlist", nil,
		"lists of hosts have one form, whoever reads them: it depends on nothing else"},
	{"internal/heavy", []string{"internal/ballast"},
		"the time limit of tests is below all tests"},
	{"internal/version", nil,
		"all programs spell their build alike"},
	{"internal/hosttest", []string{"internal/heavy"},
		"hosts for tests do not depend on what runs on them"},
	{"internal/systemdtest", nil,
		"units are checked in the same way, whatever they start"},
	{"internal/words", nil,
		"the spelling of a number does not depend on what it counts"},
	{"internal/buildtest", nil,
		"a build of a program does not depend on what the program does"},
	{"internal/porttest", nil,
		"a held port does not depend on its later listener"},
	{"internal/netns", []string{"network"},
		"simulated hosts do not depend on what runs on them"},
	{"internal/mpitest", nil,
		"what an mpirun needs does not depend on the program"},
	{"runtime/transporttest", []string{"internal/heavy", "ir", "schedule", "runtime/..."},
		"the suite runs every algorithm over a transport"},
	{"runtime/...", []string{"ir", "runtime/..."},
		"a transport moves slots: packages above it decide their use"},
	{"cast/block", nil,
		"a set of lacked blocks does not depend on the contents of the blocks"},
	{"cast/filter", nil,
		"a filter compares patterns with paths, and reads no files"},
	{"cast/names", nil,
		"a sorted list of names does not depend on its use"},
	{"cast/record", []string{"cast/block", "cast/filter"},
		"an encoding does not depend on the source of its data"},
	{"cast/pack", []string{"cast/block", "cast/filter", "cast/names", "cast/record"},
		"a reader of trees knows neither the receivers nor the transport"},
	{"cast/unpack", []string{"cast/block", "cast/filter", "cast/names", "cast/record"},
		"a writer of trees knows neither the sender nor the transport"},
	{"cast", []string{"cast/block", "cast/pack", "cast/record", "cast/remote", "cast/unpack", "internal/words", "runtime", "runtime/clock", "runtime/meet/lobby", "runtime/mcast", "runtime/tcp", "runtime/wire", "schedule"},
		"a cast to hosts starts receivers, joins them by a transport and sends by broadcasts; the command adds flags and words"},
	{"cast/remote", []string{"internal/hostlist", "internal/words"},
		"the start of a program on a host does not depend on the program's work"},
	{"cast/remote/sshdtest", []string{"internal/porttest"},
		"a server for tests does not depend on the tested code"},
	{".", []string{"ir", "network", "runtime", "runtime/fold", "runtime/fold/exact", "runtime/clock", "runtime/core", "runtime/machine", "runtime/wire", "schedule", "schedule/selection"},
		"the root package adds types to package runtime, which does the work: transports are given to it"},
	{"local", []string{".", "runtime/mem"},
		"local ranks use the API of programs, and memory for a network"},
	{"cli/...", []string{"..."},
		"the command, and commands with algorithms of a program's own, use everything"},
	{"cmd/schedcast", []string{"cast/...", "internal/command/complete", "internal/command/manpage", "internal/command/syntax", "internal/terminal", "internal/version", "internal/words", "runtime/meet/lobby", "runtime/tcp"},
		"the program is copied to hosts: it links neither the parser of schedgen nor what casts do not need"},
	{"cmd/...", []string{"..."},
		"the command joins everything"},
	{"golden/...", []string{"..."},
		"tests of the whole see everything"},
	{"examples/...", []string{".", "local", "ir/...", "schedule", "verify", "emit", "runtime/...", "examples/generated/..."},
		"an example imports only packages that a program outside of the module can import, and generated code"},
	{"internal/lab/...", []string{"..."},
		"the project's claims are about everything"},
	{"internal/source", []string{"emit", "internal/command/complete", "internal/terminal", "internal/forms", "internal/words", "ir/...", "schedule"},
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
	{[]string{"net/http/...", "expvar", "html/template"}, []string{"runtime/membership/etcd", "runtime/membership/etcdtest", "runtime/status", "cli/...", "cmd/..."},
		"a program that shows no status has no server in it, and a program without etcd has no client of it"},
	{[]string{"time", "unsafe"}, []string{".", "internal/buildtest", "internal/heavy", "internal/netns", "internal/porttest", "runtime/...", "cast/...", "cli/...", "cmd/...", "internal/command/...", "internal/outfile", "internal/terminal", "examples/...", "internal/lab/...", "internal/source"},
		"ir, schedule, verify and emit are functions of their arguments; the module's root sees elements of any type as bytes, and has durations in its Config"},
	{[]string{"net/...", "os/...", "math/rand/...", "syscall"},
		[]string{"internal/buildtest", "internal/heavy", "internal/hosttest", "internal/mpitest", "internal/netns", "internal/porttest", "internal/systemdtest", "internal/version", "runtime/...", "cast/...", "cli/...", "cmd/...", "internal/command/...", "internal/outfile", "internal/terminal", "examples/...", "internal/lab/...", "internal/source"},
		"ir, schedule, verify and emit are functions of their arguments: the same input gives the same bytes on every machine"},
	{[]string{"crypto/aes", "crypto/cipher", "crypto/hkdf", "crypto/hmac", "golang.org/x/crypto/..."}, []string{"runtime/internal/seal"},
		"one place makes keys, proofs and seals, and is small enough to be read"},
	{[]string{"C"}, []string{"runtime/verbs/...", "runtime/mpi/goengine"},
		"the default build is pure Go"},
	{[]string{"testing/..."}, []string{"internal/*test", "internal/command/commandtest", "internal/lab/internal/labtest", "internal/heavy", "runtime/*test", "runtime/membership/*test", "cast/remote/sshdtest"},
		"tools of tests stay out of the product; a suite that transports of others must pass is exported"},
	{[]string{"github.com/stretchr/testify/...", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/rogpeppe/go-internal/..."},
		[]string{"internal/*test", "internal/command/commandtest", "internal/lab/internal/labtest", "internal/heavy", "runtime/*test", "runtime/membership/*test", "cast/remote/sshdtest"},
		"tools of tests stay out of the product; a suite that transports of others must pass is exported"},
	{[]string{"github.com/chromedp/..."}, nil,
		"only tests drive a browser"},
	{[]string{"gonum.org/v1/gonum/stat/..."}, []string{"sim/fit"},
		"one place computes uncertainty, apart from measuring and deciding"},
	{[]string{"go.yaml.in/yaml/..."}, []string{"network/astra"},
		"only networks of ASTRA-sim are YAML, and one package reads them"},
	{[]string{"gonum.org/v1/gonum/graph/formats/..."}, []string{"network/dot"},
		"one place reads graphs of other programs"},
	{[]string{"gonum.org/v1/gonum/..."}, []string{"emit"},
		"graphs are for analysis and drawing: checks, the runtime and the generators walk the schedule itself"},
	{[]string{"github.com/dave/jennifer/..."}, []string{"emit"},
		"only emit writes Go"},
	{[]string{"google.golang.org/protobuf/..."}, []string{"ir/chakra"},
		"only traces of Chakra are protobuf, and one package reads and writes them"},
	{[]string{"github.com/alecthomas/kong"}, []string{"cli/...", "cmd/...", "internal/command", "internal/command/commandtest", "internal/lab/..."},
		"only the command has a command line; completion and manual pages do not depend on its parser"},
	{[]string{"github.com/spf13/pflag"}, []string{"cmd/schedcast"},
		"kong makes the linker keep every exported method, which is too much for a program that is copied to hosts"},
	{[]string{"golang.org/x/term"}, []string{"internal/terminal"},
		"only the command talks to a person"},
	{[]string{"github.com/HdrHistogram/hdrhistogram-go"}, []string{"cli/...", "cmd/...", "internal/lab/..."},
		"the runtime reports events, and a program that wants figures counts them"},
	{[]string{"golang.org/x/net/..."}, []string{"runtime/internal/datagram"},
		"only multicast needs more of a socket than the standard library gives"},
	{[]string{"golang.org/x/sys/..."}, []string{"runtime/...", "cast/pack", "cast/unpack"},
		"system calls are for the transports, and for files with holes and reserved space"},
	{[]string{"github.com/mmcloughlin/avo/..."}, []string{"runtime/fold/internal/asm"},
		"the writer of assembly is a module of its own: nothing in the product depends on it"},
	{[]string{"github.com/klauspost/compress/..."}, []string{"cast"},
		"only a sender of files must compress for slow networks"},
	{[]string{"golang.org/x/time/rate"}, []string{"cast"},
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
	{"runtime/core/...",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "io", "bufio", "context", "sync/...", "golang.org/x/sys/..."},
		"the core is stepped: the same one runs under a communicator, on a simulated network and through every order of events"},
	{"runtime/simnet",
		[]string{"net/...", "time", "os/...", "math/rand/...", "unsafe", "syscall", "context", "sync/...", "golang.org/x/sys/..."},
		"a run depends on its scenario alone: it has its own time and randomness, and is one goroutine"},
	{"cli/internal/crew",
		[]string{"github.com/alecthomas/kong", "golang.org/x/term", "text/tabwriter"},
		"flags and printing are the command's: a crew is given a job"},
	{"runtime/explore",
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
	{"ir", module + "/ir/fixpoint", "stands below everything"},
	{"ir/fixpoint", module + "/ir", ""},
	{"ir/fixpoint", module + "/verify", "on the representation alone"},
	{"sim/loggp", module + "/sim", ""},
	{"sim", module + "/sim/queue", ""},
	{"sim", module + "/schedule", "not their source"},
	{"sim", module + "/runtime/simnet", "not their source"},
	{"sim", "time", "functions of their arguments"},
	{"sim", "math/rand/v2", "functions of their arguments"},
	{"sim/fit", module + "/sim", ""},
	{"sim/fit", "gonum.org/v1/gonum/stat/distuv", ""},
	{"sim/fit", "time", "functions of their arguments"},
	{"schedule/selection/grid", "gonum.org/v1/gonum/stat", "only in sim/fit"},
	{"schedule/selection/grid", module + "/runtime", "passed in"},
	{"sim/queue", module + "/ir", "nothing of their meaning"},
	{"sim/link", module + "/sim", "nothing of the data"},
	{"runtime/simnet", module + "/sim/link", ""},
	{"sim/loggp", module + "/ir/goal", "depends on nothing else"},
	{"sim/loggp", "time", "functions of their arguments"},
	{"sim/loggp", "os", "functions of their arguments"},
	{"sim/loggp", "math/rand/v2", "functions of their arguments"},
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
	{"runtime", "expvar", "has no server in it"},
	{"runtime", "log/slog", ""},
	{"runtime/status", "net/http", ""},
	{"runtime/status", module + "/runtime", ""},
	{"runtime/tcp", "net/http/httptest", "has no server in it"},
	{"runtime", "golang.org/x/net/ipv4", "only multicast"},
	{"runtime/internal/datagram", "golang.org/x/net/ipv4", ""},
	{"runtime/mcast", "golang.org/x/net/ipv4", "only multicast"},
	{"runtime/internal/datagram", module + "/runtime/internal/stream", ""},
	{"runtime/internal/datagram", module + "/runtime/mcast", "below the transports"},
	{"runtime/internal/fragment", module + "/runtime/internal/seal", "what carries the datagram"},
	{"runtime/internal/stream", module + "/runtime/tcp", "below the transports"},
	{"runtime/internal/reactor", module + "/runtime/internal/stream", "its owner acts"},
	{"runtime/meet", module + "/runtime/wire", "the meeting of ranks"},
	{"runtime/internal/netpoll", module + "/runtime/wire", "depend on their owners"},
	{"runtime/meet", module + "/runtime/internal/seal", ""},
	{"runtime/meet", module + "/runtime/meet/lobby", "the meeting of ranks"},
	{"runtime/meet/lobby", module + "/runtime/meet", "nothing of their use"},
	{"runtime/meet/internal/contact", module + "/runtime/meet", "the first contact"},
	{"runtime/internal/seal", module + "/runtime/wire", "nor their owner"},
	{"runtime/internal/tcpopt", module + "/runtime/wire", "depend on its use"},
	{"runtime/internal/seal", "crypto/cipher", ""},
	{"runtime/internal/stream", "crypto/cipher", "small enough to be read"},
	{"runtime/meet", "crypto/rand", ""},
	{"runtime/mcast", module + "/runtime", ""},
	{"runtime", module + "/runtime/meet/launch", ""},
	{"runtime/meet/launch", module + "/runtime/transport", ""},
	{"runtime/meet/launch", module + "/runtime", "how ranks reach each other"},
	{"runtime/mcast", module + "/schedule", "moves slots"},
	{"runtime/tcp", "golang.org/x/sys/unix", ""},
	{"runtime/internal/segment", "unsafe", ""},
	{"runtime/internal/segment", module + "/runtime/internal/yield", ""},
	{"runtime/internal/segment", module + "/runtime/internal/reactor", "nothing of sockets"},
	{"runtime/shm", module + "/schedule", "moves slots"},
	{"cli", "golang.org/x/sys/unix", "for the transports"},
	{"runtime/tcp", "C", "pure Go"},
	{"runtime/internal/rdma", "C", "pure Go"},
	{"runtime/internal/rdma", module + "/runtime/verbs/internal/ibv", "apart from the adapter"},
	{"runtime/verbs/internal/ibv", "C", ""},
	{"runtime/verbs", "C", ""},
	{"runtime/fold", "golang.org/x/sys/cpu", ""},
	{"runtime/fold", "unsafe", ""},
	{"runtime/fold", "github.com/mmcloughlin/avo/build", "a module of its own"},
	{"runtime/fold", module + "/runtime/wire", "on their senders"},
	{"runtime/fold/exact", module + "/runtime/fold", "on its numbers alone"},
	{"runtime/fold/exact", "unsafe", ""},
	{"runtime/fold/internal/asm", "github.com/mmcloughlin/avo/build", ""},
	{"runtime/machine", "time", "takes events"},
	{"runtime/machine", "sync/atomic", "takes events"},
	{"runtime/machine", module + "/runtime", "the machine is pure"},
	{"runtime/simnet", "time", "on its scenario alone"},
	{"runtime/simnet", module + "/schedule", ""},
	{"runtime/simnet", module + "/runtime", "beside the communicator"},
	{"runtime/core", module + "/runtime/core/agree", ""},
	{"runtime/core/agree", module + "/runtime/core", "made of votes and messages"},
	{"runtime/core/agree", module + "/runtime/wire", "made of votes and messages"},
	{"runtime/core/agree", "time", "the core is stepped"},
	{"runtime/core/agree", module + "/runtime/core/presence", "made of votes and messages"},
	{"runtime/core/presence", module + "/runtime/core/internal/moment", ""},
	{"runtime/core/flow", module + "/ir", ""},
	{"runtime/core/flow", module + "/runtime/core/loss", "from reports and from the time"},
	{"runtime/core/lines", module + "/ir/windows", ""},
	{"runtime/core/lines", module + "/runtime/machine", "from programs and from the size of a window"},
	{"runtime/core/loss", module + "/ir", ""},
	{"runtime/core/loss", module + "/runtime/core/flow", "from what arrives and from the time"},
	{"runtime/core/loss", module + "/runtime/wire", "from what arrives and from the time"},
	{"runtime/core/mismatch", module + "/runtime/wire", "are the core's"},
	{"runtime/core/presence", module + "/runtime/wire", "signs of life"},
	{"runtime/explore", module + "/runtime/core", ""},
	{"runtime/explore", module + "/runtime", "contains no driver"},
	{"runtime/explore", "time", "neither time nor randomness"},
	{"runtime/transporttest", "testing", ""},
	{"runtime/transporttest", module + "/internal/heavy", ""},
	{"runtime", module + "/internal/heavy", "transports are given"},
	{"runtime/membership/membershiptest", "testing", ""},
	{"runtime/membership/etcd", "net/http", ""},
	{"runtime/membership/etcdtest", module + "/runtime/membership", "nothing of its clients"},
	{"runtime/membership/etcd", "go.etcd.io/etcd/client/v3", "homes does not list"},
	{"runtime/membership/file", module + "/runtime/wire", "nothing of their messages"},
	{"runtime/group", module + "/runtime/membership/embedded", "managers and transports are given"},
	{"runtime/group", module + "/runtime/tcp", "managers and transports are given"},
	{"runtime", module + "/runtime/group", "transports are given"},
	{"runtime/tcp", "testing", "out of the product"},
	{"runtime", "github.com/alecthomas/kong", "only the command"},
	{"cast", module + "/runtime", ""},
	{"cast", module + "/runtime/tcp", ""},
	{"cast", module + "/verify", "joins them by a transport"},
	{"cast/record", module + "/cast/pack", "the source of its data"},
	{"cast/remote", module + "/cast", "on the program's work"},
	{"cast/remote/sshdtest", "testing", ""},
	{"cast/unpack", module + "/cast", "neither the sender"},
	{"cast/unpack", "golang.org/x/sys/unix", ""},
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
