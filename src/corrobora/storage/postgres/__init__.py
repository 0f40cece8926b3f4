"""PostgreSQL: the embedded server, the pool of connections, and the migrations."""
