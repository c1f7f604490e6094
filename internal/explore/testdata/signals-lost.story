rank 0 waits for ever in barrier/hsb, rank 1 waits for ever in barrier/hsb, rank 2 waits for ever in barrier/hsb


and from there on
rank 0 enters barrier/hsb
rank 1 enters barrier/hsb
rank 2 enters barrier/hsb
timer of rank 0: nothing has moved; rank 0 puts probe to 1
probe from 0 to 1 arrives
timer of rank 1: nothing has moved; rank 1 puts probe to 2
probe from 1 to 2 arrives
timer of rank 2: nothing has moved; rank 2 puts probe to 0
probe from 2 to 0 arrives
