rank 0 puts c0 of operation 1 to rank 1 again

rank 0 enters bcast/chain; rank 0 puts c0 to 1, puts c0 to 1
