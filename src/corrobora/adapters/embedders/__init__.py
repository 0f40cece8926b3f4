"""Embedders: adapters that turn texts into unit vectors.

Know one provider each. Do not know passages or the database.
"""
