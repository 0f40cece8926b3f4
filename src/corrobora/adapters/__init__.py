"""Adapters: what implements the ports, one file for each outside thing.

Knows foreign formats and protocols, each in its own module. Does not know the engine, the store or each other.
"""
