"""Measure what each part of clasher contributes, on real streams.

An experiment is a TOML file (``config``) of a kind (``kinds``). The runner measures its cells and
writes ``results/<name>.json``. The report fills the tables of ``<name>.md`` from that file.
"""
