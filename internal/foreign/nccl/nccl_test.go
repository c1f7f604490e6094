package nccl

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
)

func parseFile(t *testing.T, name string, copies int) string {
	file, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.True(t, Is(file))
	n, err := Parse(bytes.NewReader(file), copies)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, n.Write(&b))
	return b.String()
}

// One server does not need its adapters, and a PCI switch without devices leads nowhere.
func TestOneServer(t *testing.T) {
	require.Equal(t, `rank s0g0 s0g1
switch s0cpu0 s0pci0 s0cpu1 s0nvswitch
link s0g0 s0pci0 192Gbit
link s0g0 s0nvswitch 1920Gbit
link s0g1 s0cpu1 192Gbit
link s0g1 s0nvswitch 1920Gbit
link s0cpu0 s0pci0 192Gbit
link s0cpu0 s0cpu1 192Gbit
`, parseFile(t, "switched.xml", 1))
}

func TestCopies(t *testing.T) {
	require.Equal(t, `rank s0g0 s0g1 s1g0 s1g1
switch net s0cpu0 s0pci0 s0nic0 s0cpu1 s0nic1 s0nvswitch s1cpu0 s1pci0 s1nic0 s1cpu1 s1nic1 s1nvswitch
link s0g0 s0pci0 192Gbit
link s0g0 s0nvswitch 1920Gbit
link s0g1 s0cpu1 192Gbit
link s0g1 s0nvswitch 1920Gbit
link s1g0 s1pci0 192Gbit
link s1g0 s1nvswitch 1920Gbit
link s1g1 s1cpu1 192Gbit
link s1g1 s1nvswitch 1920Gbit
link net s0nic0 200Gbit
link net s0nic1 10Gbit
link net s1nic0 200Gbit
link net s1nic1 10Gbit
link s0cpu0 s0pci0 192Gbit
link s0cpu0 s0cpu1 192Gbit
link s0pci0 s0nic0 192Gbit
link s0cpu1 s0nic1 40000Gbit
link s1cpu0 s1pci0 192Gbit
link s1cpu0 s1cpu1 192Gbit
link s1pci0 s1nic0 192Gbit
link s1cpu1 s1nic1 40000Gbit
`, parseFile(t, "switched.xml", 2))
}

// Without ranks, the numbers of devices give the order. A GPU that the file lacks has no link.
func TestDirect(t *testing.T) {
	require.Equal(t, `rank s0g0 s0g1 s0g2
switch s0cpu-1
arc s0g0 s0g1 144Gbit
link s0g0 s0cpu-1 161.5Gbit
arc s0g1 s0g0 160Gbit
link s0g1 s0g2 320Gbit
link s0g1 s0cpu-1 96Gbit
link s0g2 s0cpu-1 96Gbit
`, parseFile(t, "direct.xml", 1))
}

// A file of several hosts has their servers, which NVSwitches and adapters join.
func TestHosts(t *testing.T) {
	host := func(hash string, rank int) string {
		return fmt.Sprintf(`<cpu numaid="0" host_hash="%s"><pci busid="1"><gpu dev="0" rank="%d" sm="100"><nvlink count="18" tclass="0x068000" target="x"/></gpu></pci>
<pci busid="2"><nic><net dev="0" speed="1000"/><net dev="1" net="0" speed="1000"/></nic></pci></cpu>`, hash, rank)
	}
	n, err := Parse(strings.NewReader("<system>"+host("a", 5)+host("b", 3)+"</system>"), 1)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, n.Write(&b))
	require.Equal(t, `rank s1g0 s0g0
switch net s0cpu0 s0nic0 s1cpu0 s1nic1 s0nvswitch
link s1g0 s1cpu0 96Gbit
link s1g0 s0nvswitch 5774.4Gbit
link s0g0 s0cpu0 96Gbit
link s0g0 s0nvswitch 5774.4Gbit
link net s0nic0 1Gbit
link net s1nic1 1Gbit
link s0cpu0 s0nic0 96Gbit
link s1cpu0 s1nic1 96Gbit
`, b.String())
}

func TestRates(t *testing.T) {
	for sm, tenths := range map[int64]int64{50: 200, 60: 180, 61: 180, 70: 200, 75: 200, 80: 200, 86: 120, 89: 200, 90: 206, 100: 401, 120: 401} {
		require.Equal(t, tenths*tenthGB, nvlinkRate(sm), sm)
	}
	for text, tenths := range map[string]int64{
		"arm64": 60, "ppc64": 320, "": 50000, "x86_64": 50000,
		"x86_64 GenuineIntel 6 79": 60, "x86_64 GenuineIntel 6 85": 100, "x86_64 GenuineIntel 6 143": 220, "x86_64 GenuineIntel 6 0xcf": 400,
		"x86_64 GenuineIntel 6 173": 400, "x86_64 GenuineIntel 7 173": 60,
		"x86_64 AuthenticAMD 23": 160, "x86_64 AuthenticAMD 175": 240, "x86_64 AuthenticAMD 26": 320,
		"x86_64 CentaurHauls 7 91": 90, "x86_64 CentaurHauls 7 1": 60,
	} {
		e := &element{attrs: map[string]string{}}
		for i, value := range strings.Fields(text) {
			e.attrs[[]string{"arch", "vendor", "familyid", "modelid"}[i]] = value
		}
		rate, err := socketRate(e)
		require.NoError(t, err)
		require.Equal(t, tenths*tenthGB, rate, text)
	}
}

func TestIs(t *testing.T) {
	for text, is := range map[string]bool{"<system>": true, "\ufeff <?xml": true, "": false, "rank a": false, "# <": false} {
		require.Equal(t, is, Is([]byte(text)), text)
	}
}

func TestBad(t *testing.T) {
	in := func(text string) string { return "<system><cpu>\n" + text + "</cpu></system>" }
	gpu := func(attrs, within string) string {
		return in("<pci><gpu " + attrs + ">" + within + "</gpu></pci>\n")
	}
	for _, test := range []struct {
		text   string
		copies int
		err    string
	}{
		{"", 1, "no elements: want <system> with what NCCL found"},
		{"<algo/>", 1, "line 1: algo: want <system> with what NCCL found"},
		{"\n<system", 1, "line 2: unexpected EOF"},
		{"<system></cpu>", 1, "line 1: element <system> closed by </cpu>"},
		{`<?xml version="3.0"?>`, 1, `line 1: xml: unsupported version "3.0"; only version 1.0 is supported`},
		{"<system/>", 1, "no gpu in a pci in a cpu"},
		{strings.Repeat("<system>", 65), 1, "line 1: system: more than 65536 elements, or more than 64 within each other"},
		{"<system>" + strings.Repeat("<x/>", maxElements), 1, "line 1: x: more than 65536 elements, or more than 64 within each other"},
		{strings.Repeat(" ", maxFile+1), 1, "a file of more than 16777216 bytes"},
		{"<system><cpu/>\n<cpu/></system>", 1, "line 2: cpu: numaid=0: twice"},
		{`<system><cpu numaid="x"/></system>`, 1, `line 1: cpu: numaid="x": want a whole number in -1..2147483648`},
		{in(`<pci link_width="65"/>`), 1, `line 2: pci: link_width="65": want a whole number in 0..64`},
		{in(`<pci link_speed="7 GT/s"/>`), 1, `line 2: pci: link_speed="7 GT/s": want a speed of PCI, such as 16.0 GT/s PCIe`},
		{in(`<pci><gpu/><nic/></pci>`), 1, "line 2: pci: several devices: want one gpu or nic"},
		{in(`<nic><net dev="0" speed="1000000001"/></nic>`), 1, `line 2: net: speed="1000000001": want a whole number in -1..1000000000`},
		{gpu("", ""), 1, "line 2: gpu: want an attribute rank or dev"},
		{gpu(`rank="-1"`, ""), 1, `line 2: gpu: rank="-1": want a whole number in 0..2147483648`},
		{gpu(`dev="0"`, "<nvlink/>"), 1, "line 2: gpu: has an nvlink, and no attribute sm"},
		{gpu(`dev="0" sm="80"`, `<nvlink count="0"/>`), 1, `line 2: nvlink: count="0": want a whole number in 1..1024`},
		{gpu(`dev="0"`, `<c2c bw="x"/>`), 1, `line 2: c2c: bw="x": want a whole number in 1..1048576`},
		{in(`<pci><gpu dev="0"><c2c bw="1048576" count="1024"/></gpu></pci><pci><gpu dev="1"/></pci>`), 1, "arc s0g0 s0cpu0: 1000000000000001 bit/s: a rate must be in 1..1000000000000000"},
		{in("<pci><gpu dev='1'/></pci>\n<pci><gpu dev='1'/></pci>"), 1, "line 3: gpu: dev=1: as the gpu in line 2"},
		{in("<pci><gpu dev='1' rank='2'/></pci>\n<pci><gpu dev='2' rank='2'/></pci>"), 1, "line 3: gpu: rank=2: as the gpu in line 2"},
		{in("<pci><gpu dev='1' rank='2'/></pci>\n<pci><gpu dev='1' rank='3'/></pci>"), 1, "node s0g1: named twice"},
		{gpu(`dev="0"`, ""), 2, "no net in a nic: nothing joins copies of the server"},
		{in(`<pci><gpu dev="0"/></pci><pci><gpu dev="1"/></pci><nic><net dev="0"/></nic>`), 2049, "2049 copies of 2 GPUs: more than 4096 ranks"},
		{in(`<pci><gpu dev="0"/></pci><nic><net dev="0"/></nic>` + strings.Repeat("<nic/>", 30)), 4096, "4096 copies: more than 65536 nodes"},
	} {
		_, err := Parse(strings.NewReader(test.text), test.copies)
		require.EqualError(t, err, test.err)
		var at *network.ParseError
		require.ErrorAs(t, err, &at)
	}
	_, err := Parse(strings.NewReader(""), 0)
	require.EqualError(t, err, "0 copies: want 1..4096")
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"switched.xml", "direct.xml"} {
		file, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(string(file), uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, copies uint8) {
		if n, err := Parse(strings.NewReader(text), 1+int(copies%3)); err == nil {
			require.NoError(t, n.Check())
		}
	})
}
