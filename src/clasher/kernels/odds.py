"""Log-odds → probabilities."""

import math

from clasher.kernels import kernel


@kernel
def sigmoid(z):
    """σ(z), without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)
