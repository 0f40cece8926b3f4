"""The method: manager, executor, thread, and the session through which they reach the outside.

Knows how research is done. Does not know adapters, databases or faces: they are handed in as ports.
Read `pursue`, `investigate`, `research` in this order: they are the whole method.
"""
