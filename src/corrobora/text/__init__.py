"""Text analysis without a model: words, sentences, names, numbers, questions and comparisons.

Knows spelling and grammar on the surface of a text. Does not know sources, runs or decisions: the same text always
gives the same result.
"""
