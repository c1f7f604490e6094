schedule bcast/mcast-acktree ranks=8 root=0 chunks=1
rank 0
  enter -> mcast c0
  enter unless s0 after 1 -> put c0 @1
  enter unless s1 after 2 -> put c0 @2
  enter unless s2 after 3 -> put c0 @4
  done enter s0 s1 s2
rank 1
  c0 -> put s0 @0
  done c0
rank 2
  c0 s0 -> put s1 @0
  c0 unless s0 after 1 -> put c0 @3
  s0 unless c0 after 0 -> put s0 @3
  done c0 s0
rank 3
  c0 -> put s0 @2
  c0 s0 -> put c0 @2
  done c0
rank 4
  c0 s0 s1 -> put s2 @0
  c0 unless s0 after 1 -> put c0 @5
  c0 unless s1 after 2 -> put c0 @6
  s0 unless c0 after 0 -> put s0 @5
  s1 unless c0 after 0 -> put s1 @6
  done c0 s0 s1
rank 5
  c0 -> put s0 @4
  c0 s0 -> put c0 @4
  done c0
rank 6
  c0 s0 -> put s1 @4
  c0 s1 -> put c0 @4
  c0 unless s0 after 1 -> put c0 @7
  s0 unless c0 after 0 -> put s0 @7
  done c0 s0
rank 7
  c0 -> put s0 @6
  c0 s0 -> put c0 @6
  done c0
---
# Paper 002, section 3.2: the first cycle. Odd ranks have the message and
# acknowledge to even ones; the root multicasts.
> 0 enter
  mcast c0
  repair, after 1: put c0 @1
  repair, after 2: put c0 @2
  repair, after 3: put c0 @4
  retired
> 1 enter
> 3 enter
> 1 c0
  put s0 @0
  done
  retired
> 3 c0
  put s0 @2
  done
  retired

# The ACK of 3 reaches 2, which has the message: it speaks for both.
> 2 enter
> 2 c0
  repair, after 1: put c0 @3
> 2 s0
  put s1 @0
  done
  retired

# Section 3.3.4: rank 4 gets the ACK of 5 and has no message to match it. It
# asks 5 at once, and 5 answers.
> 5 enter
> 5 c0
  put s0 @4
  done
  retired
> 4 enter
> 4 s0
  repair, after 0: put s0 @5
> 5 s0
  put c0 @4
> 4 c0
  repair, after 2: put c0 @6

# A second copy changes nothing. The repair of 6 is armed by now; the ACK of 6
# ends it, and rank 4 acknowledges for its whole sub-tree.
> 4 c0
> 4 s1
  put s2 @0
  done
  retired

# The root is done with the last ACK.
> 0 s0
> 0 s1
> 0 s2
  done
