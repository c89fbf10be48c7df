"""The version of the library, in the one place that says so."""

__version__ = "0.1.0"
