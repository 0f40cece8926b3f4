"""Frozen values of research: what is asked, planned, found, decided and reported.

Knows only values and their invariants. Does not know clocks, sockets, files, databases, models or profiles.
"""
