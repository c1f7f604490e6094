schedule barrier/dissemination ranks=8 degree=2
rank 0
  enter -> put s0 @1
  enter s0 -> put s1 @2
  enter s0 s1 -> put s2 @4
  done s0 s1 s2
rank 1
  enter -> put s0 @2
  enter s0 -> put s1 @3
  enter s0 s1 -> put s2 @5
  done s0 s1 s2
rank 2
  enter -> put s0 @3
  enter s0 -> put s1 @4
  enter s0 s1 -> put s2 @6
  done s0 s1 s2
rank 3
  enter -> put s0 @4
  enter s0 -> put s1 @5
  enter s0 s1 -> put s2 @7
  done s0 s1 s2
rank 4
  enter -> put s0 @5
  enter s0 -> put s1 @6
  enter s0 s1 -> put s2 @0
  done s0 s1 s2
rank 5
  enter -> put s0 @6
  enter s0 -> put s1 @7
  enter s0 s1 -> put s2 @1
  done s0 s1 s2
rank 6
  enter -> put s0 @7
  enter s0 -> put s1 @0
  enter s0 s1 -> put s2 @2
  done s0 s1 s2
rank 7
  enter -> put s0 @0
  enter s0 -> put s1 @1
  enter s0 s1 -> put s2 @3
  done s0 s1 s2
---
# A flag of a later step may come early; the rank may not pass it on before it
# has the flags of all earlier steps.
> 0 enter
  put s0 @1
> 0 s1
> 0 s2
> 0 s0
  put s1 @2
  put s2 @4
  done
  retired

# Flags may come before the rank itself: it announces itself only on entry.
> 1 s0
> 1 s1
> 1 enter
  put s0 @2
  put s1 @3
  put s2 @5
  retired
> 1 s2
  done
