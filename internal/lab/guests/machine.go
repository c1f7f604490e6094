//go:build linux

package guests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const emulator = "qemu-system-x86_64"

// findEmulator returns the path of qemu.
func findEmulator() (string, error) {
	path, err := exec.LookPath(emulator)
	if err != nil {
		return "", fmt.Errorf("%w; to install it: apt-get install --no-install-recommends qemu-system-x86", err)
	}
	return path, nil
}

// accelerator returns qemu's accelerator: the one asked for, or the best one of this machine.
// /dev/kvm also exists on machines whose processor shows no virtualization, and guests do not boot
// there.
func accelerator(asked string, cpuinfo []byte) string {
	if asked != "auto" {
		return asked
	}
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return "tcg"
	}
	defer kvm.Close() // nothing was written
	if !hasFlag(cpuinfo, "vmx") && !hasFlag(cpuinfo, "svm") {
		return "tcg"
	}
	return "kvm"
}

// cpuField returns the value of the first line of /proc/cpuinfo with a key.
func cpuField(cpuinfo []byte, key string) string {
	for line := range bytes.Lines(cpuinfo) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func hasFlag(cpuinfo []byte, flag string) bool {
	return bytes.Contains(fmt.Append(nil, " ", cpuField(cpuinfo, "flags"), " "), []byte(" "+flag+" "))
}

// tscKHz returns the rate of the processor's time stamp counter. The only file for all users that
// shows it is /proc/cpuinfo, which has twice the rate as bogomips.
func tscKHz(cpuinfo []byte) (int, error) {
	bogomips, err := strconv.ParseFloat(cpuField(cpuinfo, "bogomips"), 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/cpuinfo: bogomips: %w", err)
	}
	return int(bogomips * 1000 / 2), nil
}

// machine has the settings that all guests share.
type machine struct {
	emulator string
	accel    string
	tscKHz   int
	kernel   string
	initrd   *os.File
	options  *Verb
}

// Descriptors of qemu besides the standard ones.
const (
	linkFD   = 3 + iota // to the switch
	portFD              // to this program
	initrdFD            // the file system to boot from
)

// args returns qemu's arguments for a guest. The machine is a plain q35 with the smallest firmware.
// It boots as fast as qemu's microvm, and has an ACPI timer. With that timer the kernel notices
// when it has measured the rate of its other timer wrongly, which happens on a busy host.
func (m *machine) args(guest int) []string {
	cpu := "max"
	if m.accel == "kvm" {
		cpu = "host"
	}
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-bios", "qboot.rom", "-accel", m.accel, "-cpu", cpu, "-smp", "1",
		"-m", strconv.Itoa(m.options.Memory),
		"-kernel", m.kernel, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initrdFD),
		"-append", strings.Join(m.kernelArgs(guest), " "),
		"-serial", "stdio",
		"-netdev", fmt.Sprintf("dgram,id=net,local.type=fd,local.str=%d", linkFD),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=net,romfile=,mac=52:54:00:78:00:%02x,host_mtu=%d", guest+1, m.options.MTU),
		"-chardev", fmt.Sprintf("socket,id=port,fd=%d", portFD),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port,name=schedgen",
	}
}

// kernelArgs returns the kernel's command line. The kernel passes assignments that it does not know
// to the first process as environment, and words behind -- as arguments. An emulated processor shows
// the host's time stamp counter.
// Without its rate the guest measures it, and a disturbed measurement makes the guest's clock
// wrong.
func (m *machine) kernelArgs(guest int) []string {
	args := []string{"console=ttyS0", "quiet", "panic=-1", "oops=panic", "random.trust_cpu=on"}
	if m.accel == "tcg" {
		args = append(args, fmt.Sprintf("tsc_early_khz=%d", m.tscKHz), "tsc=reliable", "no_timer_check")
	}
	return append(args, fmt.Sprintf("GUEST=%d", guest), fmt.Sprintf("GUESTS=%d", m.options.Guests), "--", insideVerb)
}

func guestName(guest int) string { return fmt.Sprintf("guest%d", guest) }

// addressOf returns the IPv4 address of a guest on eth0.
func addressOf(guest string) string {
	g, _ := strconv.Atoi(guest)
	return fmt.Sprintf("10.78.0.%d", g+1)
}
