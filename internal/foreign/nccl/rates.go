package nccl

import "strings"

// tenthGB is a tenth of a GB/s, in bits a second. Rates of NCCL have one digit after the point.
const tenthGB = 800_000_000

// local is NCCL's rate of parts that nothing slow separates.
const local = 50_000 * tenthGB

// nvlinkRate returns the rate of one NVLink of a GPU by its compute capability. The figures are
// those of NCCL's src/graph/topo.h, which are below those of the data sheets. NCCL's other figure for
// Rubin is missing here.
func nvlinkRate(sm int64) int64 {
	switch {
	case sm >= 100:
		return 401 * tenthGB
	case sm >= 90:
		return 206 * tenthGB
	case sm == 86:
		return 120 * tenthGB
	case sm >= 60 && sm < 70:
		return 180 * tenthGB
	default:
		return 200 * tenthGB
	}
}

// lane has the rates of a PCI lane that NCCL assumes, by the transfers a second of link_speed. They
// are what is left of the raw rates for data.
var lane = map[string]int64{
	"2.5": 1.5e9,
	"5":   3e9, "5.0": 3e9,
	"8": 6e9, "8.0": 6e9,
	"16": 12e9, "16.0": 12e9,
	"32": 24e9, "32.0": 24e9,
	"64": 48e9, "64.0": 48e9,
}

// pciRate returns the rate of the link of a PCI device to what is above it. NCCL takes 16 lanes of 8
// GT/s for what the kernel does not know.
func pciRate(e *element) (int64, error) {
	width, err := e.number("link_width", 16, 0, 64)
	if err != nil {
		return 0, err
	}
	if width == 0 {
		width = 16
	}
	text := e.attrs["link_speed"]
	number, unit, _ := strings.Cut(text, " ")
	switch rate, ok := lane[number]; {
	case ok && (unit == "GT/s" || unit == "GT/s PCIe"):
		return width * rate, nil
	case text == "" || strings.HasPrefix(text, "Unknown"):
		return width * lane["8"], nil
	default:
		return 0, e.fault("link_speed=%q: want a speed of PCI, such as 16.0 GT/s PCIe", text)
	}
}

// socketRate returns the rate that NCCL assumes from a processor to the others of its host.
func socketRate(e *element) (int64, error) {
	family, err := e.number("familyid", 0, 0, 1<<31)
	if err != nil {
		return 0, err
	}
	model, err := e.number("modelid", 0, 0, 1<<31)
	if err != nil {
		return 0, err
	}
	switch e.attrs["arch"] {
	case "ppc64":
		return 320 * tenthGB, nil
	case "arm64":
		return 60 * tenthGB, nil
	case "x86_64":
	default:
		return local, nil
	}
	switch e.attrs["vendor"] {
	case "GenuineIntel":
		switch {
		case family != 6:
			return 60 * tenthGB, nil
		case model >= 0xcf || model >= 0xad && model <= 0xaf: // Emerald Rapids and later
			return 400 * tenthGB, nil
		case model >= 0x8f: // Sapphire Rapids
			return 220 * tenthGB, nil
		case model >= 0x55: // Skylake
			return 100 * tenthGB, nil
		}
		return 60 * tenthGB, nil
	case "AuthenticAMD":
		switch family { // or, in older files, the family that CPUID shows before its extension
		case 26, 0xbf: // Zen 5
			return 320 * tenthGB, nil
		case 25, 0xaf: // Zen 3 and 4
			return 240 * tenthGB, nil
		}
		return 160 * tenthGB, nil
	case "CentaurHauls", "  Shanghai  ":
		if family == 7 && model == 0x5b {
			return 90 * tenthGB, nil
		}
		return 60 * tenthGB, nil
	}
	return local, nil
}
