"""Experiments: what each part of clasher is worth, measured on real streams.

An experiment is a TOML file (``config``) of a kind (``kinds``). The runner measures its cells and
writes ``results/<name>.json``; the report fills the page ``<name>.md`` from it.
"""
