the root, rank 0, returns from bcast/mcast-acktree before rank 3 has the message

rank 0 enters bcast/mcast-acktree; rank 0 multicasts c0
rank 1 enters bcast/mcast-acktree
datagram c0 from 0 to 1 arrives; rank 1 puts s0 to 0
s0 from 1 to 0 arrives
rank 2 enters bcast/mcast-acktree
datagram c0 from 0 to 2 arrives; rank 2 puts s1 to 0
s1 from 2 to 0 arrives
rank 0 returns from bcast/mcast-acktree
