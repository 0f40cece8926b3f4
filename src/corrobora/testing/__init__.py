"""Testing: scripted parts for every port, a model provider on loopback with faults, and conformance suites.

Knows the contracts. Does not know any real provider. Ships with the package, for users who write their own adapters:
scripted parts here, the provider in `corrobora.testing.server`, the suites in `corrobora.testing.conformance`.
"""

from corrobora.testing.fakes import FakeClock, LoopTime, MemoryJournal, MemoryLibrary, run_virtually
from corrobora.testing.scripted import Fault, ScriptedAnalyst, ScriptedReader, ScriptedSearch

__all__ = [
    "FakeClock",
    "Fault",
    "LoopTime",
    "MemoryJournal",
    "MemoryLibrary",
    "ScriptedAnalyst",
    "ScriptedReader",
    "ScriptedSearch",
    "run_virtually",
]
