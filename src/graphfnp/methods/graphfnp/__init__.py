"""GraphFNP: one file for each factor of Eq. 1, and the compositions of them."""
