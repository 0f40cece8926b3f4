"""Readers: from the bytes of a format to readable text, and from a hit to a document.

Know formats. Do not know the network or the database.
"""
