"""Testing: pages and search engines on loopback with faults, and conformance suites. Ships for who writes adapters.

Knows what each port promises. Does not know any real provider.
"""
