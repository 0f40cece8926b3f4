"""The open web: addresses, connections, decoding, robots and politeness for pages that nobody vouches for.

Knows how to fetch one untrusted URL without reaching anything private, without being filled up, and without being rude.
Does not know searches, documents, libraries or runs.
"""
