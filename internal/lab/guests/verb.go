//go:build linux

package guests

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
)

// Verb runs a command in virtual machines.
type Verb struct {
	Guests  int           `default:"3" help:"Number of guests, 1 to 64."`
	Loss    units.Share   `placeholder:"SHARE" help:"Share of the UDP frames to each guest that the switch loses, such as 1% or 0.01; RDMA's frames are UDP, too."`
	Seed    uint64        `default:"1" help:"Seed of the losses of --loss."`
	MTU     int           `name:"mtu" default:"1500" help:"MTU of eth0, 576 to 9000."`
	Memory  int           `default:"512" help:"Memory of each guest in MiB, 128 to 16384."`
	Accel   string        `default:"auto" placeholder:"HOW" help:"How qemu runs guests: kvm, tcg (emulated), or auto: kvm if this machine has it; default auto."`
	Boot    time.Duration `default:"3m" help:"Longest time until guests are up."`
	Timeout time.Duration `default:"5m" help:"Longest time of the command."`
	Kill    []kill        `sep:"none" placeholder:"G@TIME[=TEXT]" help:"Kill guest G this long after the commands have started or, with TEXT, after its command has printed a line with TEXT; may be repeated."`
	Add     []string      `sep:"none" placeholder:"FILE" complete:"file" help:"File of the host to copy to a directory of the guests' PATH, with its libraries, or a directory, by its whole path, which keeps that path; may be repeated."`
	Out     string        `placeholder:"DIR" complete:"directory" help:"Directory for the files that the command leaves in OUT, below guestN/."`
	Cache   string        `placeholder:"DIR" complete:"directory" help:"Directory for kernels and programs made from packages; default schedgen/guests below the user's cache."`
	Kernel  string        `default:"linux-image-amd64" placeholder:"PACKAGE" help:"Debian package of the guests' kernel; default linux-image-amd64."`
	Console bool          `help:"Show the output of the guests' kernels."`
	Command []string      `arg:"" help:"Command that runs in each guest; it follows --."`
}

// kill says which guest to kill, and when.
type kill struct {
	guest int
	after time.Duration
	text  string // the time begins when the guest's command prints this text; "": when the commands start
}

func (k kill) String() string {
	if k.text == "" {
		return fmt.Sprintf("--kill=%d@%v", k.guest, k.after)
	}
	return fmt.Sprintf("--kill=%d@%v=%s", k.guest, k.after, k.text)
}

// queue is the number of frames that may wait in the switch for a guest. A broadcast of a few MiB
// fits, since a slow guest takes long for it.
const queue = 8192

// UnmarshalText reads G@DURATION or G@DURATION=TEXT.
func (k *kill) UnmarshalText(text []byte) (err error) {
	*k, err = parseKill(string(text))
	return err
}

func parseKill(text string) (kill, error) {
	guest, after, ok := strings.Cut(text, "@")
	if !ok {
		return kill{}, errors.New("must be G@DURATION or G@DURATION=TEXT, such as 2@1.5s")
	}
	after, line, ok := strings.Cut(after, "=")
	if ok && line == "" {
		return kill{}, errors.New("no text behind =")
	}
	g, err := strconv.Atoi(guest)
	if err != nil {
		return kill{}, fmt.Errorf("guest %q: must be a number", guest)
	}
	d, err := time.ParseDuration(after)
	if err != nil {
		return kill{}, err
	}
	return kill{g, d, line}, nil
}

func (v *Verb) check() error {
	for _, k := range v.Kill {
		if k.guest < 0 || k.guest >= v.Guests || k.after < 0 {
			return fmt.Errorf("%v: must be a guest in 0..%d and a time not below 0", k, v.Guests-1)
		}
	}
	switch {
	case v.Guests < 1 || v.Guests > 64:
		return fmt.Errorf("--guests=%d: must be in 1..64", v.Guests)
	case v.MTU < 576 || v.MTU > 9000:
		return fmt.Errorf("--mtu=%d: must be in 576..9000", v.MTU)
	case v.Memory < 128 || v.Memory > 16384:
		return fmt.Errorf("--memory=%d: must be in 128..16384 (MiB)", v.Memory)
	case !slices.Contains([]string{"auto", "kvm", "tcg"}, v.Accel):
		return fmt.Errorf("--accel=%s: must be auto, kvm or tcg", v.Accel)
	case v.Boot <= 0:
		return fmt.Errorf("--boot=%v: must be above 0", v.Boot)
	case v.Timeout <= 0:
		return fmt.Errorf("--timeout=%v: must be above 0", v.Timeout)
	case v.Kernel == "" || strings.HasPrefix(v.Kernel, "-") || strings.Contains(v.Kernel, "/"):
		return fmt.Errorf("--kernel=%q: must be the name of a package", v.Kernel)
	}
	return cmp.Or(v.checkPrograms(), v.defaultCache())
}

// checkPrograms returns an error if two files would have the same path in a guest.
func (v *Verb) checkPrograms() error {
	from := map[string]string{}
	for _, file := range v.programs() {
		if isDirectory(file) && !filepath.IsAbs(file) {
			return fmt.Errorf("--add=%s: a directory keeps its path in guests, so it must be absolute", file)
		}
		at := guestProgram(file)
		if other, taken := from[at]; taken && other != file {
			return fmt.Errorf("%s and %s would both be %s", file, other, at)
		}
		from[at] = file
	}
	return nil
}

func (v *Verb) defaultCache() error {
	if v.Cache != "" {
		return nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("%w; --cache names another directory", err)
	}
	v.Cache = filepath.Join(dir, "schedgen", "guests")
	return nil
}
