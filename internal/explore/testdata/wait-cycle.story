rank 0 waits for ever in barrier/ring, rank 1 waits for ever in barrier/ring, rank 2 waits for ever in barrier/ring, rank 3 waits for ever in barrier/ring


and from there on
rank 0 enters barrier/ring
rank 1 enters barrier/ring
rank 2 enters barrier/ring
rank 3 enters barrier/ring
timer of rank 0: nothing has moved; rank 0 puts probe to 1
probe from 0 to 1 arrives
timer of rank 1: nothing has moved; rank 1 puts probe to 2
probe from 1 to 2 arrives
timer of rank 2: nothing has moved; rank 2 puts probe to 3
probe from 2 to 3 arrives
timer of rank 3: nothing has moved; rank 3 puts probe to 0
probe from 3 to 0 arrives
