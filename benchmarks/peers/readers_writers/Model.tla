---- MODULE Model ----
EXTENDS Naturals, FiniteSets, Sequences, TLC
CONSTANT P
VARIABLES phase, queue
In(what) == {p \in P : phase[p] = what}
Init == phase = [p \in P |-> "idle"] /\ queue = << >>
Request(p, what) == phase[p] = "idle" /\ phase' = [phase EXCEPT ![p] = what] /\ queue' = Append(queue, p)
Admit == /\ queue # << >> /\ In("writing") = {}
         /\ LET p == Head(queue) IN
            /\ phase[p] = "waits to read" \/ In("reading") = {}
            /\ phase' = [phase EXCEPT ![p] = IF @ = "waits to read" THEN "reading" ELSE "writing"]
         /\ queue' = Tail(queue)
Leave(p) == phase[p] \in {"reading", "writing"} /\ phase' = [phase EXCEPT ![p] = "idle"] /\ UNCHANGED queue
Next == Admit \/ \E p \in P : Request(p, "waits to read") \/ Request(p, "waits to write") \/ Leave(p)
Exclusive == In("writing") = {} \/ (Cardinality(In("writing")) = 1 /\ In("reading") = {})
Symmetry == Permutations(P)
====
