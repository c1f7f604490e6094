rank 0 waits for ever in bcast/mcast-chain

rank 1 enters bcast/mcast-chain; rank 1 multicasts c0, puts c0 to 2
datagram c0 from 1 to 0 is lost

and from there on
rank 0 enters bcast/mcast-chain
rank 1 returns from bcast/mcast-chain
rank 1 closes; rank 1 puts goodbye to 0, puts goodbye to 3, puts goodbye to 2
goodbye from 1 to 0 arrives
goodbye from 1 to 2 arrives
goodbye from 1 to 3 arrives
rank 0 hears that rank 1 has closed
rank 3 hears that rank 1 has closed
rank 2 enters bcast/mcast-chain
c0 from 1 to 2 arrives; rank 2 puts c0 to 3
datagram c0 from 1 to 2 arrives
rank 2 hears that rank 1 has closed
rank 2 returns from bcast/mcast-chain
rank 2 closes; rank 2 puts goodbye to 1, puts goodbye to 0, puts goodbye to 3
goodbye from 2 to 0 arrives
goodbye from 2 to 3 arrives
rank 0 hears that rank 2 has closed
rank 3 enters bcast/mcast-chain
c0 from 2 to 3 arrives
datagram c0 from 1 to 3 arrives
rank 3 hears that rank 2 has closed
rank 3 returns from bcast/mcast-chain
rank 3 closes; rank 3 puts goodbye to 2, puts goodbye to 1, puts goodbye to 0
goodbye from 3 to 0 arrives
rank 0 hears that rank 3 has closed
