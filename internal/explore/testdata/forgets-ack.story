the root, rank 0, returns from bcast/mcast-acktree before rank 2 has the message

rank 0 enters bcast/mcast-acktree; rank 0 multicasts c0
rank 1 enters bcast/mcast-acktree
datagram c0 from 0 to 1 arrives; rank 1 puts c0 to 2, puts s0 to 0
s0 from 1 to 0 arrives
rank 0 returns from bcast/mcast-acktree
