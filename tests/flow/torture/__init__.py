"""Ends that a flow must survive: killed, paused, its broker killed, together or one by one.

``python -m tests.flow.torture --help`` runs them by the thousand; the tests run some, and show that
each kind catches bugs that were put there on purpose.
"""
