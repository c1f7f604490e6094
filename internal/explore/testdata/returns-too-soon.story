rank 2 returns from bcast/chain with wrong data: c1 is ee ee ee ee, not 01 02 00 a5

rank 0 enters bcast/chain; rank 0 puts c0 to 1, puts c1 to 1
rank 1 enters bcast/chain
c0 from 0 to 1 arrives; rank 1 puts c0 to 2
rank 2 enters bcast/chain
c0 from 1 to 2 arrives
rank 2 returns from bcast/chain
