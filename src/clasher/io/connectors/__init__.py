"""The connectors: a file for each kind of stream, listed in ``clasher.io.registry``."""
