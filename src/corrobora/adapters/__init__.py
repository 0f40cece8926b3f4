"""Adapters: what implements the ports, a file or a package for each kind of outside thing.

Knows foreign formats and protocols, each in its own module. Does not know the engine, the store or each other.
"""
