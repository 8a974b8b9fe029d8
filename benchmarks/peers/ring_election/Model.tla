---- MODULE Model ----
EXTENDS Naturals, Sequences
CONSTANT N
VARIABLES phase, link
P == 0..N-1
Init == phase = [p \in P |-> "idle"] /\ link = [p \in P |-> << >>]
PassOn(p, m, l) == /\ phase' = [phase EXCEPT ![p] = "takes part"]
                   /\ link' = [l EXCEPT ![(p + N - 1) % N] = Append(@, m)]
Start(p) == phase[p] = "idle" /\ PassOn(p, p, link)
Receive(p) == /\ link[p] # << >>
              /\ LET m == Head(link[p])
                     rest == [link EXCEPT ![p] = Tail(@)]
                 IN CASE m = p -> phase' = [phase EXCEPT ![p] = "leads"] /\ link' = rest
                      [] m > p -> PassOn(p, m, rest)
                      [] m < p /\ phase[p] = "idle" -> PassOn(p, p, rest)
                      [] OTHER -> link' = rest /\ UNCHANGED phase
Next == \E p \in P : Start(p) \/ Receive(p)
LargestLeads == \A p \in 0..N-2 : phase[p] # "leads"
====
