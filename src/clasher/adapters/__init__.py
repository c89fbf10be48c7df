"""Adapters for other frameworks: each module imports one optional library."""
