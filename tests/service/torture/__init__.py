"""Crashes that a service must survive: kill, power cut, failing disk, full disk.

``python -m tests.service.torture --help`` runs them by the thousand; the tests run some, and show
that each kind catches a bug that was put there on purpose.
"""
