schedule bcast/mcast-chain ranks=4 root=0 chunks=2
rank 0
  enter -> mcast c0, mcast c1, put c0 @1, put c1 @1
  done enter
rank 1
  c0 -> put c0 @2
  c1 -> put c1 @2
  done c0 c1
rank 2
  c0 -> put c0 @3
  c1 -> put c1 @3
  done c0 c1
rank 3
  done c0 c1
---
# Paper 000, section 2.2: both stages at once. The root multicasts and puts.
> 0 enter
  mcast c0
  mcast c1
  put c0 @1
  put c1 @1
  done
  retired

# Rank 1 has chunk 0 by multicast and forwards it; the copy of the chain, which
# comes later, is ignored.
> 1 enter
> 1 c0
  put c0 @2
> 1 c0

# Chunks come in any order. Rank 2 missed the multicast of chunk 1 and has it
# from the chain: whichever copy is first is the one that goes on.
> 2 enter
> 2 c0
  put c0 @3
> 1 c1
  put c1 @2
  done
  retired
> 2 c1
  put c1 @3
  done
  retired

# The last rank of the chain has no successor: the edge to the root is left out.
> 3 enter
> 3 c1
> 3 c0
  done
