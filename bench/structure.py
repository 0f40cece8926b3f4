"""Print the shape of the source: files, lines, lengths, names, and what one reads to follow the loop of a thread.

Counts physical lines and every named function of `src/corrobora`, methods and nested functions included, special
methods such as `__init__` left out. A name has one word if it contains no underscore between letters.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
LOOP = "corrobora.engine.pursue"

# English participles that end in neither -ed nor -ing and that a function might be named after.
IRREGULAR = frozenset(
    "begun bought bound broken brought built caught chosen dealt done drawn driven eaten fallen felt forgotten "
    "found frozen given gone got grown heard held hidden kept known laid led left lent lost made meant met paid risen "
    "said seen sent shown sold sought spent spoken stolen stood struck taken taught thought thrown told understood "
    "won worn written".split()
)
NOT_PARTICIPLES = frozenset("embed exceed feed need proceed seed shed speed".split())
NOUNS_IN_ING = frozenset(
    "building heading king mapping meeting pricing ranking rating ring setting spring string thing".split()
)


def is_participle(name: str) -> bool:
    """True if a function name is one bare participle: `kept`, `merged`, `gathering`."""
    word = name.strip("_")
    if "_" in word or word in NOT_PARTICIPLES or word in NOUNS_IN_ING:
        return False
    return word in IRREGULAR or word.endswith(("ed", "ing"))


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the function is read like a field, so that an adjective is its proper name."""
    return any("property" in ast.dump(decorator) for decorator in function.decorator_list)


def walk_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function that has a name of its own."""
    for node in ast.walk(tree):
        special = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("__")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not special:
            yield node


@cache
def parse_file(path: Path) -> ast.Module:
    """Parse a file of Python, once for all who ask."""
    return ast.parse(path.read_text(encoding="utf-8"))


def read_modules() -> dict[str, ast.Module]:
    """Return every module of the package, parsed, by its dotted name."""
    found: dict[str, ast.Module] = {}
    for path in sorted((SRC / "corrobora").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = parse_file(path)
    return found


def list_imports(tree: ast.Module, modules: dict[str, ast.Module]) -> set[str]:
    """Return the modules of the package that are imported when this one is loaded."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules.keys()) or {node.module}
    return found & modules.keys()


def reach_modules(start: str, modules: dict[str, ast.Module]) -> set[str]:
    """Return every module that is loaded with `start`, packages without code left out."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += list_imports(modules[name], modules)
    return {name for name in seen if len(modules[name].body) > 1}


def main() -> int:
    modules = read_modules()
    files = sorted((SRC / "corrobora").rglob("*.py"))
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    functions = [function for tree in modules.values() for function in walk_functions(tree)]
    long = [function for function in functions if (function.end_lineno or 0) - function.lineno + 1 > 50]
    single = [function for function in functions if "_" not in function.name.strip("_")]
    participles = [function for function in functions if is_participle(function.name)]
    bare = [function for function in participles if not is_property(function)]
    print(f"source files {len(files)}, lines {sum(lengths)}, median file {median(lengths):g}, largest {lengths[-1]}")
    print(f"functions {len(functions)}, longer than 50 lines: {len(long)}")
    print(f"one-word function names {len(single) / len(functions):.1%}")
    print(f"bare participles {len(participles) / len(functions):.1%}, of them no property {len(bare)}")
    if LOOP in modules:
        reached = reach_modules(LOOP, modules)
        print(f"modules reached from {LOOP}: {len(reached)}")
    if "--list" in sys.argv:
        print(*sorted({function.name for function in bare}), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
