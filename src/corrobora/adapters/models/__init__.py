"""Clients for language models: two wire protocols of our own, everything else through entry points.

Knows endpoints, protocols, connections, limits of rate and prices. Does not know roles, runs or the journal.
"""
