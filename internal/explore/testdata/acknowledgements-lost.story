rank 0 waits for ever in bcast/mcast-acktree


and from there on
rank 0 enters bcast/mcast-acktree; rank 0 multicasts c0
rank 1 enters bcast/mcast-acktree
datagram c0 from 0 to 1 arrives
rank 1 returns from bcast/mcast-acktree
rank 1 closes; rank 1 puts goodbye to 0, puts goodbye to 2
goodbye from 1 to 0 arrives
goodbye from 1 to 2 arrives
rank 0 hears that rank 1 has closed
rank 2 hears that rank 1 has closed
rank 2 enters bcast/mcast-acktree
datagram c0 from 0 to 2 arrives
rank 2 returns from bcast/mcast-acktree
rank 2 closes; rank 2 puts goodbye to 1, puts goodbye to 0
goodbye from 2 to 0 arrives
rank 0 hears that rank 2 has closed
timer of rank 0: the repair of rule 1 is due; rank 0 puts c0 to 1
timer of rank 0: the repair of rule 2 is due; rank 0 puts c0 to 2
