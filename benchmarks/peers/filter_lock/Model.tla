---- MODULE Model ----
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS P, Nobody
VARIABLES phase, level, last
N == Cardinality(P)
Init == phase = [p \in P |-> "idle"] /\ level = [p \in P |-> 0] /\ last = [l \in 1..N-1 |-> Nobody]
Climb(p) == /\ phase[p] = "idle" /\ phase' = [phase EXCEPT ![p] = "claiming"]
            /\ level' = [level EXCEPT ![p] = 1] /\ UNCHANGED last
Mark(p) == /\ phase[p] = "claiming" /\ phase' = [phase EXCEPT ![p] = "waiting"]
           /\ last' = [last EXCEPT ![level[p]] = p] /\ UNCHANGED level
Pass(p) == /\ phase[p] = "waiting"
           /\ last[level[p]] # p \/ \A q \in P \ {p} : level[q] < level[p]
           /\ IF level[p] = N - 1
              THEN phase' = [phase EXCEPT ![p] = "inside"] /\ UNCHANGED <<level, last>>
              ELSE /\ phase' = [phase EXCEPT ![p] = "claiming"]
                   /\ level' = [level EXCEPT ![p] = level[p] + 1] /\ UNCHANGED last
Leave(p) == /\ phase[p] = "inside" /\ phase' = [phase EXCEPT ![p] = "idle"]
            /\ level' = [level EXCEPT ![p] = 0] /\ UNCHANGED last
Next == \E p \in P : Climb(p) \/ Mark(p) \/ Pass(p) \/ Leave(p)
OneInside == Cardinality({p \in P : phase[p] = "inside"}) < 2
Symmetry == Permutations(P)
====
