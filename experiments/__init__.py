"""Experiments: what each part of clasher is worth, measured on real streams.

An experiment is a module with three names, and a page beside it:

- ``TITLE``: what it finds out, in one line;
- ``run(plan)``: measure, and return plain values for JSON;
- ``blocks(results)``: the tables of ``<name>.md``, by the name of their marker comments.
"""
