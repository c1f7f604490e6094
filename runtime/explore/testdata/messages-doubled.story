rank 1 fails though all ranks are well: rank 0: protocol violation: operation 0: message 0 of origin 0 instead of 1

rank 0 enters message
rank 0 returns from message; rank 0 puts message 0 of rank 0 to 1, puts message 0 of rank 0 to 1
message 0 of rank 0 from 0 to 1 arrives
message 0 of rank 0 from 0 to 1 arrives; rank 1 puts abort (rank 0: protocol violation: operation 0: message 0 of origin 0 instead of 1) to 0, puts abort (rank 0: protocol violation: operation 0: message 0 of origin 0 instead of 1) to 0
