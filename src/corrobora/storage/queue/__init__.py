"""The queue of runs: attempts, schedules and rate limits over all workers."""
