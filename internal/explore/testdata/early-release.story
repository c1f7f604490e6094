rank 1 returns from barrier/hsb before rank 3 has entered it

rank 0 enters barrier/hsb
rank 1 enters barrier/hsb; rank 1 puts s0 to 0
s0 from 1 to 0 arrives
rank 2 enters barrier/hsb; rank 2 puts s1 to 0
s1 from 2 to 0 arrives; rank 0 puts s0 to 1, puts s0 to 2, puts s0 to 3
s0 from 0 to 1 arrives
rank 1 returns from barrier/hsb
