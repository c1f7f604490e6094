rank 1 returns from allreduce/ring with wrong data: c0 is 81 01 00 11, not c5 88 d8 93

rank 0 enters allreduce/ring
rank 1 enters allreduce/ring; rank 1 puts v0 to 0
v0 from 1 to 0 arrives; rank 0 puts v0 to 1
v0 from 0 to 1 arrives; rank 1 puts s0 to 0
s0 from 1 to 0 arrives
rank 0 folds a part
rank 0 folds a part; rank 0 multicasts piece 0 of c0, multicasts piece 1 of c0
datagram piece 0 of c0 from 0 to 1 arrives
rank 1 folds a part
rank 1 folds a part
rank 1 returns from allreduce/ring
