rank 2 says other numbers of messages than have come: rank 0: aborted by another rank, rank 1: rank 0: rank lost: it has died; the remaining ranks do not all have the same messages of rank 0: from 0 to 1 of them

rank 0 dies
rank 1 notices that rank 0 is dead; rank 1 puts abort (rank 0: rank lost: it has died) to 2, puts abort (rank 0: rank lost: it has died) to 2, puts  to 2
abort (rank 0: rank lost: it has died) from 1 to 2 arrives; rank 2 puts abort (rank 0: rank lost: it has died) to 0, puts  to 0
abort (rank 0: rank lost: it has died) from 1 to 2 arrives
 from 1 to 2 arrives; rank 2 puts abort (rank 0: rank lost: it has died) to 1, puts  to 1, puts  to 1
abort (rank 0: rank lost: it has died) from 2 to 1 arrives
 from 2 to 1 arrives
 from 2 to 1 arrives; rank 1 puts  to 2
 from 1 to 2 arrives
