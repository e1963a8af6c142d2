"""vector(n): distances, arithmetic, norms (`functions`), and the loops over dimensions (`kernels`)."""
