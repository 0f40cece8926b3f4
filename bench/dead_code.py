"""Find source that only tests use: `make dead-code` fails if a definition of `src/corrobora` has no production caller.

Knows functions, methods, classes and constants at the top of a module. A use inside the definition itself or inside
another unused definition does not count. Names are resolved through imports; a method counts as used wherever any
attribute of its name is read, so a method with a common name may be missed but none is reported wrongly.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PUBLIC_PACKAGES = ("corrobora.testing",)  # for the tests of users and of plug-ins

# Definitions that nothing in the source names, and why they stay.
EXEMPT: dict[str, str] = {
    "corrobora.analysts.language_model.analyst.SYNTHESIS_SYSTEM": "public API (ANGLES-28)",
    "corrobora.analysts.language_model.analyst.SYNTHESIS_USER_TEMPLATE": "public API (ANGLES-28)",
    "corrobora.analysts.language_model.analyst.build_synthesis_prompt": "public API (ANGLES-28)",
    "corrobora.config.values.find_doc": "the generated reference pages print it",
    "corrobora.domain.report.Report._repr_markdown_": "notebooks call it by its name",
    "corrobora.faces.structured.StructuredAnswer._repr_markdown_": "likewise",
    "corrobora.faces.structured._escape": "the one before calls it",
    "corrobora.text.phrases.Frame.can_translate": "the test that no text lacks its translation asks it",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
_CALLED = re.compile(r"command\(|group\(|^(?:router|app|server)\.\w+\(")
_TAG = re.compile(r"\{[{%].*?[%}]\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Definition:
    """A top-level definition, or a method of a top-level class."""

    module: str
    name: str
    owner: str  # the class of a method, else ""
    first: int
    last: int

    @property
    def label(self) -> str:
        """The dotted name, as `EXEMPT` holds it."""
        return ".".join(part for part in (self.module, self.owner, self.name) if part)


@dataclass
class Module:
    """What one file defines, imports and uses."""

    name: str
    path: Path
    definitions: list[Definition] = field(default_factory=list)
    imported: dict[str, str] = field(default_factory=dict)  # local name -> dotted name
    names: list[tuple[str, int]] = field(default_factory=list)  # names read, and where
    attributes: list[tuple[str, str, int]] = field(default_factory=list)  # (what it is read from, attribute, line)


def read_module(path: Path) -> Module:
    """Parse one file."""
    parts = path.relative_to(SRC).with_suffix("").parts
    module = Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        module.definitions += _list_definitions(module.name, node)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=source, names=aliases) if source:
                module.imported |= {alias.asname or alias.name: f"{source}.{alias.name}" for alias in aliases}
            case ast.Import(names=aliases):
                module.imported |= {alias.asname or alias.name: alias.name for alias in aliases}
            case ast.Name(id=name, ctx=ast.Load(), lineno=line):
                module.names.append((name, line))
            case ast.Attribute(value=value, attr=name, lineno=line):
                module.attributes.append((ast.unparse(value), name, line))
            case ast.Constant(value=str(text), lineno=line) if text.isidentifier():
                module.attributes.append(("", text, line))  # a name in a table, as for `getattr`
            case ast.Constant(value=str(text), lineno=line) if text.startswith("corrobora.") and ":" in text:
                module.attributes.append(("", text.rpartition(":")[2], line))  # MODULE:NAME, loaded when it is needed
            case _:
                pass
    return module


def _list_definitions(module: str, node: ast.stmt) -> Iterator[Definition]:
    end = node.end_lineno or node.lineno
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if not (_is_command(node) or name.startswith("__")):
                yield Definition(module, name, "", node.lineno, end)
        case ast.ClassDef(name=name, body=body):
            yield Definition(module, name, "", node.lineno, end)
            for inner in body:
                if isinstance(inner, Function) and not _is_hook(inner):
                    yield Definition(module, inner.name, name, inner.lineno, inner.end_lineno or inner.lineno)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            if not name.startswith("__"):
                yield Definition(module, name, "", node.lineno, end)
        case _:
            pass


def read_template(path: Path) -> Module:
    """Read what a page's template names: each identifier in its tags is read from a value there."""
    module = Module(".".join(path.relative_to(SRC).parts), path)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for tag in _TAG.findall(line):
            module.attributes += [("", name, number) for name in _NAME.findall(tag)]
    return module


def _is_command(node: ast.stmt) -> bool:
    """True for a command of the command line, which click calls, and for a route, which the server calls."""
    decorators = node.decorator_list if isinstance(node, Function) else []
    return any(_CALLED.search(ast.unparse(each)) for each in decorators)


def _is_hook(function: Function) -> bool:
    """True for methods that Python or a library calls: special methods, and validators of pydantic."""
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    return function.name.startswith("__") or "validator" in decorators or "serializer" in decorators


class Uses:
    """Where names and attributes are read, by name."""

    def __init__(self, modules: list[Module]) -> None:
        self.names: dict[tuple[str, str], list[int]] = defaultdict(list)  # (module, local name)
        self.attributes: dict[str, list[tuple[Module, str, int]]] = defaultdict(list)
        self.importers: dict[str, list[tuple[str, str]]] = defaultdict(list)  # dotted name -> (module, local name)
        for module in modules:
            for name, line in module.names:
                self.names[module.name, name].append(line)
            for value, name, line in module.attributes:
                self.attributes[name].append((module, value, line))
            for local, source in module.imported.items():
                self.importers[source].append((module.name, local))

    def find(self, definition: Definition) -> list[tuple[str, int]]:
        """Return module and line of each use of a definition."""
        found = self.attributes[definition.name]
        if definition.owner:
            return [(module.name, line) for module, _, line in found]
        places = [*self.importers[f"{definition.module}.{definition.name}"], (definition.module, definition.name)]
        return [(module, line) for module, local in places for line in self.names[module, local]] + [
            (module.name, line)
            for module, value, line in found
            if not value or module.imported.get(value) == definition.module
        ]


def find_unused(modules: list[Module]) -> list[Definition]:
    """Return the definitions that nothing uses, and those that only such definitions use."""
    public = _list_public_names()
    uses = Uses(modules)
    rest = {
        each: uses.find(each)
        for module in modules
        for each in module.definitions
        if not module.name.startswith(PUBLIC_PACKAGES) and not _is_public(each, public) and each.label not in EXEMPT
    }
    unused: set[Definition] = set()
    while True:
        found = {
            each
            for each, places in rest.items()
            if each not in unused
            and all(_lies_in(module, line, {each, *unused}) for module, line in places)
            and not _overrides_library(each)
        }
        if not found:
            return sorted(unused, key=lambda each: (each.module, each.first))
        unused |= found


def _is_public(definition: Definition, public: set[str]) -> bool:
    name = f"{definition.module}.{definition.owner or definition.name}"
    return name in public and not definition.name.startswith("_")


def _list_public_names() -> set[str]:
    """The public names of the package, and what `pyproject.toml` names as entry points."""
    homes: dict[str, tuple[str, ...]] = vars(importlib.import_module("corrobora"))["_HOMES"]
    names = {f"{module}.{name}" for module, listed in homes.items() for name in listed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tables = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    names |= {target.replace(":", ".") for table in tables for target in table.values()}
    return names


def _overrides_library(definition: Definition) -> bool:
    """True for a method that a base class from outside declares, because the library calls it."""
    if not definition.owner:
        return False
    try:
        owner: type = getattr(importlib.import_module(definition.module), definition.owner)
    except ImportError:  # the module of an extra that is not installed
        return True
    outside = [base for base in owner.__mro__ if not base.__module__.startswith("corrobora")]
    return any(hasattr(base, definition.name) for base in outside)


def _lies_in(module: str, line: int, definitions: set[Definition]) -> bool:
    return any(each.module == module and each.first <= line <= each.last for each in definitions)


def main() -> int:
    """Print what is unused; the exit code is 1 if there is anything."""
    modules = [read_module(path) for path in sorted((SRC / "corrobora").rglob("*.py"))]
    modules += [read_template(path) for path in sorted((SRC / "corrobora").rglob("*.html"))]
    known = {each.label for module in modules for each in module.definitions}
    paths = {module.name: module.path for module in modules}
    found = find_unused(modules)
    for each in found:
        place = paths[each.module].relative_to(ROOT)
        sys.stdout.write(f"{place}:{each.first}: {each.label} has no production caller\n")
    stale = sorted(set(EXEMPT) - known)
    for label in stale:
        sys.stdout.write(f"bench/dead_code.py: {label} is exempt and does not exist\n")
    return int(bool(found or stale))


if __name__ == "__main__":
    sys.exit(main())
