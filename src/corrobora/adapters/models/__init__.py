"""Language models as analysts: one file per concern, pydantic-ai behind it, loaded only when a model is really asked.

Knows how a role becomes a request and an answer a value. Does not know runs, profiles or the journal.
"""
