---- MODULE Model ----
EXTENDS TLC
CONSTANT RM
VARIABLES phase, voted, heard, decision
vars == <<phase, voted, heard, decision>>
Init == /\ phase = [r \in RM |-> "working"]
        /\ voted = {} /\ heard = {} /\ decision = "none"
Prepare(r) == /\ phase[r] = "working" /\ phase' = [phase EXCEPT ![r] = "prepared"]
              /\ voted' = voted \cup {r} /\ UNCHANGED <<heard, decision>>
Refuse(r) == /\ phase[r] = "working" /\ phase' = [phase EXCEPT ![r] = "aborted"]
             /\ UNCHANGED <<voted, heard, decision>>
Hear(r) == /\ decision = "none" /\ r \in voted \ heard /\ heard' = heard \cup {r}
           /\ UNCHANGED <<phase, voted, decision>>
Commit == /\ decision = "none" /\ heard = RM /\ decision' = "commit" /\ UNCHANGED <<phase, voted, heard>>
Abort == /\ decision = "none" /\ decision' = "abort" /\ UNCHANGED <<phase, voted, heard>>
Obey(r) == \/ /\ decision = "commit" /\ phase[r] # "committed"
              /\ phase' = [phase EXCEPT ![r] = "committed"] /\ UNCHANGED <<voted, heard, decision>>
           \/ /\ decision = "abort" /\ phase[r] # "aborted"
              /\ phase' = [phase EXCEPT ![r] = "aborted"] /\ UNCHANGED <<voted, heard, decision>>
Next == Commit \/ Abort \/ \E r \in RM : Prepare(r) \/ Refuse(r) \/ Hear(r) \/ Obey(r)
Consistent == \A p, q \in RM : ~(phase[p] = "aborted" /\ phase[q] = "committed")
Symmetry == Permutations(RM)
====
