"""A model that many share and that outlives the process: everything but HTTP.

``Engine`` is the whole of it. What is said to it is written to a log before it is learnt and before
anyone is told that it was; a start reads the newest snapshot and what the log says since.
"""
