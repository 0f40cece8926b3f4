"""The open web: addresses, connections, robots and politeness for pages of unknown origin.

Knows how to fetch an untrusted URL without reaching a private address, filling the memory or overloading a host. Does
not know searches, documents, libraries or runs.
"""
