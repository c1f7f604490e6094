package debian

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// object returns an ELF file with a section .modinfo of these fields.
func object(t require.TestingT, section string, fields ...string) []byte {
	info := []byte(strings.Join(fields, "\x00") + "\x00")
	names := []byte("\x00" + section + "\x00.shstrtab\x00")
	const header, entry = 64, 64
	file := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: uint64(header + len(info) + len(names)), Ehsize: header, Shentsize: entry, Shnum: 3, Shstrndx: 2,
	}
	copy(file.Ident[:], elf.ELFMAG)
	file.Ident[elf.EI_CLASS], file.Ident[elf.EI_DATA], file.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	for _, part := range []any{file, info, names, []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: header, Size: uint64(len(info))},
		{Name: uint32(len(section) + 2), Type: uint32(elf.SHT_STRTAB), Off: uint64(header + len(info)), Size: uint64(len(names))},
	}} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, part))
	}
	return b.Bytes()
}

func TestWhatAModuleNeeds(t *testing.T) {
	for want, fields := range map[string][]string{
		"[]":                     {"license=GPL", "depends="},
		"[ib_core udp_tunnel]":   {"alias=rdma-link-rxe", "depends=ib_core,udp_tunnel", "name=rdma_rxe"},
		"[crc32_generic virtio]": {"depends=crc32-generic,virtio"},
	} {
		got, err := needs(object(t, ".modinfo", fields...))
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(got))
	}
	_, err := needs(object(t, ".text", "depends=a"))
	require.ErrorContains(t, err, "no section .modinfo")
	_, err = needs([]byte("no object"))
	require.Error(t, err)
}

// kernelOf returns a loader of modules that need each other as said.
func kernelOf(t require.TestingT, all map[string][]string, inside ...string) *loader {
	l := &loader{files: map[string]string{}, inside: map[string]bool{}}
	for name := range all {
		l.files[name] = "/lib/" + name + ".ko"
	}
	for _, name := range inside {
		l.inside[name] = true
	}
	l.read = func(file string) ([]byte, error) {
		name := moduleName(file)
		if all[name] == nil {
			return nil, fs.ErrPermission
		}
		return object(t, ".modinfo", "depends="+strings.Join(all[name], ",")), nil
	}
	return l
}

func namesOf(modules []module) (names []string) {
	for _, m := range modules {
		names = append(names, m.name)
	}
	return names
}

func TestModulesThatCannotBeLoaded(t *testing.T) {
	l := kernelOf(t, map[string][]string{
		"a": {"b"}, "b": {"c", "missing"}, "c": {}, "x": {"y"}, "y": {"x"}, "secret": nil, "d": {"inside", "c"},
	}, "inside")
	for name, want := range map[string]string{
		"a":      "the kernel has no module missing, which b needs, which a needs",
		"x":      "module x needs itself, which y needs, which x needs",
		"none":   "the kernel has no module none",
		"secret": "module secret: permission denied",
	} {
		_, err := l.load([]string{name})
		require.ErrorContains(t, err, want)
	}
	order, err := l.load([]string{"d", "c", "inside"})
	require.NoError(t, err)
	require.Equal(t, []string{"c", "d"}, namesOf(order))
}

// TestOrderOfModules checks that each module comes once, after all modules that it needs.
func TestOrderOfModules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := map[string][]string{}
		var names []string
		for i := range rapid.IntRange(1, 12).Draw(t, "modules") {
			name := fmt.Sprintf("m%d", i)
			all[name] = []string{}
			for _, other := range names {
				if rapid.Bool().Draw(t, name+" needs "+other) {
					all[name] = append(all[name], other)
				}
			}
			names = append(names, name)
		}
		asked := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "asked")
		order, err := kernelOf(t, all).load(asked)
		require.NoError(t, err)
		var loaded []string
		for _, name := range namesOf(order) {
			require.NotContains(t, loaded, name)
			for _, needed := range all[name] {
				require.Contains(t, loaded, needed)
			}
			loaded = append(loaded, name)
		}
		for _, name := range asked {
			require.Contains(t, loaded, name)
		}
		last := loaded[len(loaded)-1]
		require.True(t, slices.Contains(asked, last), "%s is loaded for nothing", last)
	})
}

func TestNamesOfModules(t *testing.T) {
	require.Equal(t, map[string]bool{"crc32_pclmul": true, "ipv6": true},
		builtin([]byte("kernel/arch/x86/crypto/crc32-pclmul.ko\nkernel/net/ipv6/ipv6.ko\n")))
	require.Equal(t, "rdma_rxe", moduleName("a/b/rdma_rxe.ko.xz"))
}
