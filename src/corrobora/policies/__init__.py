"""Policies: pure, synchronous functions of frozen values.

Know the rules of the method. Do not know clocks, sockets, databases or models.
"""
