"""The extractive analyst: all ten roles without a model, by classical retrieval and text analysis.

Knows the roles' inputs and outputs and the text policies. Does not know any model, file, clock or network: the same
input always gives the same output, and every sentence of its reports stands in a source.
"""

from corrobora.analysts.extractive.analyst import ExtractiveAnalyst

__all__ = ["ExtractiveAnalyst"]
