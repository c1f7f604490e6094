rank 1 returns from bcast/chain with wrong data: c1 is 3f 3f 3f 3f, not 01 02 00 a5

rank 0 enters bcast/chain; rank 0 puts c0 to 1, puts c1 to 1
rank 1 enters bcast/chain
c0 from 0 to 1 arrives; rank 1 puts c0 to 2
c1 from 0 to 1 arrives; rank 1 puts c1 to 2
rank 1 returns from bcast/chain
