"""p(G | z): a decoder that writes a graph node by node, in breadth-first order."""
