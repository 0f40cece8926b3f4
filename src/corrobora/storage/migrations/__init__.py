"""Migrations: numbered SQL files, applied in order and never edited once released.

Knows the shape of the database. Does not know who applies it.
"""
