"""The analyst that asks language models: rendering of prompts, parsing of answers, one repair.

Knows how a role becomes a request and an answer becomes a value. Does not know endpoints, protocols or prices: a
`ModelClient` sends the request.
"""
