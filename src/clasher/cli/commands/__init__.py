"""One module per command; each has a ``command`` and imports what is heavy when it runs."""
