"""Other people's frameworks: each package here imports one optional library."""
