rank 1 gets no result though all ranks are well: ask: question 0 of rank 0, with 1 answer: rank 0: no usable answer: rank has left: it has closed its communicator

rank 0 enters question; rank 0 puts message 0 about questions of rank 0 to 1
message 0 about questions of rank 0 from 0 to 1 arrives
rank 0 takes a question or a result
rank 0 answers question 0 of rank 0
rank 1 takes a question or a result
rank 1 answers question 0 of rank 0; rank 1 puts answer to question 0 of rank 0 to 0
answer to question 0 of rank 0 from 1 to 0 arrives
rank 0 returns from question
rank 0 takes a question or a result
rank 0 closes; rank 0 puts goodbye to 1
goodbye from 0 to 1 arrives
rank 1 takes a question or a result
