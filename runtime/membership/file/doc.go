// Package file is the manager of membership on a disk that the members share.
//
// The directory has a file for each view, of which the highest number is the newest, and
// one for each member that it writes a growing number into as long as it lives. There is no
// lock, so nobody can die holding one. A view is made under another name and then linked
// (link(2)) to its own, which fails if somebody was faster: so exactly one view follows each. What a
// member wants is done when a view shows it, and until then it tries again.
//
// The first member watches the numbers of all others, and all watch the first one's. A number
// that has not changed for Config.TTL, by the watcher's own clock, is a dead
// member's: clocks of hosts are not compared. A member that could not write its own for
// TTL has to take itself for dead: [membership.ErrLost].
//
// The file system must have hard links and make them at once and once: ext4, XFS,
// Btrfs, tmpfs, NFS, Lustre, GPFS and CephFS do; FAT and most SMB mounts have no hard links, which Join
// says. On NFS a client may believe for as long as it caches attributes (60 s by
// default) that a file is not there: mount with actimeo=1 or noac, or take a TTL
// that is longer.
package file
