---- MODULE Model ----
EXTENDS Integers, FiniteSets, TLC
CONSTANT A
VARIABLES asked, value, promised, voted, votes, told
B == 1..3
None == -1
Init == /\ asked = {} /\ value = [b \in B |-> None]
        /\ promised = [a \in A |-> 0] /\ voted = [a \in A |-> 0] /\ votes = [a \in A |-> {}]
        /\ told = [a \in A |-> [b \in B |-> None]]
IsQuorum(S) == 2 * Cardinality(S) > Cardinality(A)
Ask(b) == b \notin asked /\ asked' = asked \cup {b} /\ UNCHANGED <<value, promised, voted, votes, told>>
Promise(a, b) == /\ b \in asked /\ b > promised[a] /\ promised' = [promised EXCEPT ![a] = b]
                 /\ told' = [told EXCEPT ![a][b] = voted[a]] /\ UNCHANGED <<asked, value, voted, votes>>
Safe(b) == {v \in 0..1 : \E k \in 0..2 : /\ IsQuorum({a \in A : told[a][b] \in 0..k})
                                         /\ k = 0 \/ (value[k] = v /\ \E a \in A : told[a][b] = k)}
Propose(b, v) == /\ value[b] = None /\ v \in Safe(b) /\ value' = [value EXCEPT ![b] = v]
                 /\ UNCHANGED <<asked, promised, voted, votes, told>>
Vote(a, b) == /\ value[b] # None /\ b >= promised[a] /\ b > voted[a]
              /\ promised' = [promised EXCEPT ![a] = b] /\ voted' = [voted EXCEPT ![a] = b]
              /\ votes' = [votes EXCEPT ![a] = @ \cup {b}] /\ UNCHANGED <<asked, value, told>>
Next == \E b \in B : Ask(b) \/ (\E v \in 0..1 : Propose(b, v)) \/ (\E a \in A : Promise(a, b) \/ Vote(a, b))
Chosen == {b \in B : IsQuorum({a \in A : b \in votes[a]})}
OneValue == \A b, c \in Chosen : value[b] = value[c]
Symmetry == Permutations(A)
====
