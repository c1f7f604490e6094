rank 1 waits for ever in bcast/request

rank 0 enters bcast/request; rank 0 multicasts c0
datagram c0 from 0 to 1 is lost

and from there on
rank 0 returns from bcast/request
rank 0 closes; rank 0 puts goodbye to 1
goodbye from 0 to 1 arrives
rank 1 hears that rank 0 has closed
rank 1 enters bcast/request
timer of rank 1: the repair of rule 0 is due; rank 1 puts s0 to 0
