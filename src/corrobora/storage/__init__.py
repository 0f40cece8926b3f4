"""Storage: one PostgreSQL database, embedded or a server, behind the ports of the engine.

Knows tables, migrations, the embedded server, the journal, events, runs, the queue and the library. Does not know the
method, the roles or the user interfaces.
"""
