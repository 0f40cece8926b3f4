"""Search providers: a small adapter for each, over one base that calls and reads results.

Know the wire formats of Tavily, Exa and Firecrawl. Do not know profiles, budgets or the journal.
"""
