"""A scripted model provider on loopback, for tests, measurements and the examples of the documentation."""
