"""Analysts: what plays the roles. Each package below is one kind of analyst.

Knows roles and how to play them. Does not know runs, profiles, the journal or any network.
"""
