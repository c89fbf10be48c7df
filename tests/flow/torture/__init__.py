"""Crashes that a flow must survive: the flow killed or paused, its broker killed, or both.

``python -m tests.flow.torture --help`` runs them by the thousand; the tests run some, and show that
each kind catches bugs that were put there on purpose.
"""
