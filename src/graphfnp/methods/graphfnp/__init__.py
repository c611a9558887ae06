"""GraphFNP: one file for each factor of Eq. 2, and the compositions of them."""
