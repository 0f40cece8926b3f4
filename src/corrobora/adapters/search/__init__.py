"""Search providers: one small adapter for each, over one way to ask and one way to read results.

Knows the wire formats of Tavily, Exa and Firecrawl. Does not know profiles, budgets or the journal.
"""
