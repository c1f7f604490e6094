// Package file is the manager of membership on a disk that the members share.
//
// The directory has a file for each view; the highest number is the newest view. It also has a file
// for each member, into which the member writes a growing number as long as it lives. There is no
// lock, so no member can die holding one. A member makes a view under a temporary name and then
// links (link(2)) it to its own name. The link fails if another member was faster, so exactly one
// view follows each. A member repeats its change until a view shows it.
//
// The first member watches the numbers of all others, and all others watch the first member's
// number. If a number has not changed for Config.TTL, by the watcher's own clock, its member is
// dead: clocks of hosts are not compared. A member that could not write its own number for TTL must
// take itself for dead: [membership.ErrLost].
//
// The file system must support atomic hard links: ext4, XFS, Btrfs, tmpfs, NFS, Lustre, GPFS and
// CephFS do. FAT and most SMB mounts have no hard links; Join then fails and says so. On NFS a
// client may believe for as long as it caches attributes (60 s by default) that a file does not
// exist: mount with actimeo=1 or noac, or use a longer TTL.
package file
