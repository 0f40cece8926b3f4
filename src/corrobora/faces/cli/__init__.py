"""The command line: stdout is the report, stderr is the progress, the exit code says how it ended.

Knows flags, terminals and signals. Imports neither a model SDK, nor the database, nor numpy until a command needs them.
"""
