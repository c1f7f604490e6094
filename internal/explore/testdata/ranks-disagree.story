rank 1 fails though all ranks are well: rank 2: protocol violation: operation 1: s1 with 0 bytes does not exist here

rank 1 enters barrier/hsb; rank 1 puts s0 to 0
rank 2 enters barrier/hsb; rank 2 puts s0 to 0, puts s1 to 1
s1 from 2 to 1 arrives; rank 1 puts abort (rank 2: protocol violation: operation 1: s1 with 0 bytes does not exist here) to 2, puts abort (rank 2: protocol violation: operation 1: s1 with 0 bytes does not exist here) to 0
