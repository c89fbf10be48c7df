"""How long it takes to start."""
