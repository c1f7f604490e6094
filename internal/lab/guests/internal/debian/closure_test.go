package debian

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const depends = `tools
 |Depends: debconf
  Depends: <debconf-2.0>
    cdebconf
    debconf
  Depends: libbsd0
 |Depends: libone
  Depends: libtwo
  Depends: libc6
  PreDepends: libcap2
libbsd0
  Depends: libc6
  Depends: libmd0
linux-image-amd64
  Depends: linux-image-6.1.0-56-amd64
linux-image-6.1.0-56-amd64
  Depends: kmod
  Depends: linux-modules-6.1.0-56
debconf
  Depends: libperl
libmd0
  Depends: libbsd0
libone
libtwo
`

func TestPackagesThatAreNeeded(t *testing.T) {
	all := dependencies([]byte(depends))
	require.Equal(t, []string{"debconf", "libbsd0", "libone", "libc6", "libcap2"}, all["tools"])
	require.Equal(t, []string{"libbsd0", "libcap2", "libmd0", "libone", "tools"}, reachable(all, []string{"tools"}))
	require.Equal(t, []string{"linux-image-6.1.0-56-amd64", "linux-image-amd64", "linux-modules-6.1.0-56"},
		reachable(all, []string{"linux-image-amd64"}))
	require.Equal(t, []string{"unknown"}, reachable(all, []string{"unknown"}))
}
