"""The version of the library, defined here only."""

__version__ = "0.2.0"
