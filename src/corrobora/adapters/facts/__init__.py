"""Facts: stores of atomic facts other than the database, behind the port `FactStore`.

Knows facts with citation and confidence. Does not know documents: a fact whose source is gone is not used again.
"""
