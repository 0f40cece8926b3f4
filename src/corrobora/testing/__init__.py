"""Testing: scripted parts for every port, a model provider on loopback with faults, and conformance suites.

Knows the contracts. Does not know any real provider. Ships with the package, for users who write their own adapters:
scripted parts here, the provider in `corrobora.testing.server`, the suites in `corrobora.testing.conformance`.
"""

from corrobora.testing.analyst import ScriptedAnalyst
from corrobora.testing.clock import FakeClock
from corrobora.testing.faults import Fault
from corrobora.testing.journal import MemoryJournal
from corrobora.testing.library import MemoryLibrary
from corrobora.testing.search import ScriptedReader, ScriptedSearch
from corrobora.testing.virtual import LoopTime, run_virtually

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
