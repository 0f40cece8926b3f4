"""analysts."""
