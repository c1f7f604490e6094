rank 0 gets result 87 b6 e7 bd, not c5 88 d8 93

rank 0 enters question; rank 0 puts message 0 about questions of rank 0 to 1
message 0 about questions of rank 0 from 0 to 1 arrives
rank 0 takes a question or a result
rank 0 answers question 0 of rank 0
rank 1 takes a question or a result
rank 1 answers question 0 of rank 0; rank 1 puts answer to question 0 of rank 0 to 0
answer to question 0 of rank 0 from 1 to 0 arrives; rank 0 puts message 1 about questions of rank 0 to 1
rank 0 returns from question
