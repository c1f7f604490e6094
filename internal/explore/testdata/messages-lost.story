rank 1 waits for ever in message


and from there on
rank 0 enters message
rank 0 returns from message
rank 0 closes; rank 0 puts goodbye to 1
goodbye from 0 to 1 arrives
rank 1 hears that rank 0 has closed
rank 1 enters message
