"""Write the generated parts of the documentation: what the program itself says about its commands, data and modules.

A page asks for a part with `<!-- generated: NAME ARGUMENT -->` and ends it with `<!-- end -->`; what stands between is
replaced. `--check` writes nothing and fails if anything would change, so that the pages can not drift from the code.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PACKAGE = ROOT / "src" / "corrobora"
PART = re.compile(
    r"(<!-- generated: (?P<name>\w+)(?: (?P<argument>[\w./]+))? -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL
)


class CannotTell(Exception):
    """The code that knows can not be asked: it does not import, or the name is unknown."""


def format_table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    """Return a Markdown table; pipes inside cells are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def format_value(value: object) -> str:
    """Write a value the way a person would."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,}" if isinstance(value, int) else f"{value:g}"
        case tuple():
            return ", ".join(format_value(part) for part in value) or "none"
        case _ if dataclasses.is_dataclass(value):
            named = getattr(value, "name", None)
            on = [field.name for field in dataclasses.fields(value) if getattr(value, field.name) is True]
            return str(named or ", ".join(on) or "none")
        case _:
            return str(value) or "none"


def commands(_: str) -> str:
    """The help of every command, as the terminal shows it."""
    import click  # noqa: PLC0415 - a section that fails to import must not take the others with it

    from corrobora.faces.cli import cli  # noqa: PLC0415

    def walk(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
        with click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, terminal_width=100) as context:
            yield f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
            group = command if isinstance(command, click.Group) else click.Group()
            for name in group.list_commands(context):
                inner = group.get_command(context, name)
                if inner is not None and not inner.hidden:
                    yield from walk(inner, f"{path} {name}", context)

    return "\n".join(walk(cli, "corrobora", None))


def errors(_: str) -> str:
    """The tree of errors with exit code, HTTP status and meaning."""
    from corrobora.domain import errors as module  # noqa: PLC0415

    found = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, module.CorroboraError) and kind.__module__ == module.__name__
    ]
    rows = [
        (f"`{kind.__name__}`", str(kind.exit_code), str(kind.http_status), first_paragraph(kind.__doc__))
        for kind in found
    ]
    return format_table(("error", "exit code", "HTTP status", "meaning"), rows)


def operations(_: str) -> str:
    """Every operation of the HTTP API, with the scope that its token needs."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from corrobora.config import load_settings  # noqa: PLC0415
    from corrobora.faces.web import create_app  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        settings = load_settings(env={"CORROBORA_HOME": folder}, folder=Path(folder), user_file=Path(folder) / "none")
        document = create_app(settings).openapi()
    rows = [
        (f"`{verb.upper()} {path}`", _name_scope(verb.upper(), path), operation["description"].split("\n")[0])
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
    ]
    return format_table(("operation", "scope", "what it does"), rows)


def _name_scope(verb: str, path: str) -> str:
    from corrobora.faces.web.security import is_open, required_scope  # noqa: PLC0415

    return "no token" if is_open(path) else required_scope(verb, path)


def new_run(_: str) -> str:
    """Every field of a new run."""
    from corrobora.faces.web.new_run import NewRun  # noqa: PLC0415

    fields = NewRun.model_json_schema()["properties"]
    rows = [(f"`{name}`", str(each.get("description", ""))) for name, each in fields.items()]
    return format_table(("field", "meaning"), rows)


def limits(_: str) -> str:
    """Every fixed limit."""
    from corrobora.domain.limits import LIMITS  # noqa: PLC0415

    rows = [
        (field.name.replace("_", " "), format_value(getattr(LIMITS, field.name)))
        for field in dataclasses.fields(LIMITS)
    ]
    return format_table(("limit", "value"), rows)


def settings(_: str) -> str:
    """Every setting as it is declared: variable, flag, accepted values, default and meaning."""
    from corrobora.config.settings import DATABASE_URL, list_secrets, list_settings  # noqa: PLC0415
    from corrobora.config.values import describe_forms  # noqa: PLC0415

    rows = [
        (
            f"`{key}`",
            f"`{each.variable}`",
            ", ".join(f"`{flag}`" for flag in each.mark.flags.split()),
            describe_forms(each.annotation),
            format_value(each.default),
            "yes" if each.mark.folder else "trusted",
            each.mark.about,
        )
        for key, each in list_settings().items()
    ]
    forms = "a reference to a variable or file"
    for key, variable in list_secrets().items():
        about = "A PostgreSQL server of your own." if key == DATABASE_URL else f"Key of {key.removeprefix('keys.')}."
        rows.append((f"`{key}`", f"`{variable}`", "", forms, "none", "trusted", about))
    heads = ("setting", "environment variable", "flag", "accepts", "default", "project file", "meaning")
    return format_table(heads, rows)


def profile_fields(_: str) -> str:
    """Every field of a profile, of its review and of a phase as it is declared."""
    from corrobora.config.profiles import list_fields  # noqa: PLC0415
    from corrobora.config.values import describe_forms, find_doc  # noqa: PLC0415
    from corrobora.domain.thread import Phase  # noqa: PLC0415
    from corrobora.policies import Profile, Review  # noqa: PLC0415

    rows = [
        (f"`{prefix}{name}`", describe_forms(annotation), find_doc(annotation))
        for prefix, kind in (("", Profile), ("review.", Review), ("phases.", Phase))
        for name, annotation in list_fields(kind).items()
    ]
    return format_table(("field", "accepts", "meaning"), rows)


def profiles(_: str) -> str:
    """Every field of every preset, one column a preset."""
    from corrobora.config.profiles import list_presets, load_profile  # noqa: PLC0415
    from corrobora.policies import Profile  # noqa: PLC0415

    presets = [load_profile(name) for name in list_presets()]
    names = [field.name for field in dataclasses.fields(Profile) if field.name not in {"name", "summary", "notes"}]
    summary = "".join(f"- **{preset.name}**: {preset.summary}\n" for preset in presets)
    rows = [(f"`{name}`", *(format_value(getattr(preset, name)) for preset in presets)) for name in names]
    return summary + "\n" + format_table(("field", *(f"`{preset.name}`" for preset in presets)), rows)


def modules(argument: str) -> str:
    """The modules of a part of the package with the first line of their docstrings, read without importing them."""
    home = PACKAGE / argument
    paths = [path for path in (*sorted(home.rglob("*.py")), home.with_suffix(".py")) if path.is_file()]
    if not paths:
        raise CannotTell(f"there is no {argument} in the package")
    rows: list[tuple[str, ...]] = []
    for path in paths:
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if said:
            rows.append((f"`{name}`", first_paragraph(said)))
    return format_table(("module", "what it is"), rows)


def schema(argument: str) -> str:
    """A published JSON Schema: `report`, `events` or `plan`."""
    import json  # noqa: PLC0415 - only this section needs it

    from corrobora.reporting.schemas import build_schema  # noqa: PLC0415

    whole = build_schema(argument)
    types = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in whole.pop("$defs").items())
    rows = [f" {json.dumps(name)}: {json.dumps(each)}" for name, each in whole.items()]
    return "```json\n{\n" + ",\n".join([*rows, f' "$defs": {{\n{types}\n }}']) + "\n}\n```\n"


def file(argument: str) -> str:
    """A file of the repository as a block of code."""
    path = ROOT / argument
    if not path.is_file():
        raise CannotTell(f"there is no file {argument}")
    return f"```{path.suffix.removeprefix('.').replace('py', 'python', 1)}\n{path.read_text(encoding='utf-8')}```"


def first_paragraph(docstring: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())


SECTIONS: dict[str, Callable[[str], str]] = {
    section.__name__: section
    for section in (
        commands,
        errors,
        operations,
        new_run,
        limits,
        settings,
        profiles,
        profile_fields,
        modules,
        schema,
        file,
    )
}


def section(name: str, argument: str) -> str:
    """Return the text of one part.

    Raises:
        CannotTell: the part is unknown, or the code behind it does not import.
    """
    if name not in SECTIONS:
        raise CannotTell(f"unknown part {name!r}; known: {', '.join(SECTIONS)}")
    try:
        return SECTIONS[name](argument)
    except (ImportError, SyntaxError) as error:
        raise CannotTell(f"{type(error).__name__}: {error}") from error


def renew_page(page: Path, complaints: list[str]) -> str:
    """Return a page with its generated parts written anew; a part that can not be told stays as it was."""

    def replace_part(found: re.Match[str]) -> str:
        try:
            body = section(found["name"], found["argument"] or "")
        except CannotTell as error:
            complaints.append(f"{page.relative_to(ROOT)}: {found['name']}: {error}")
            return found.group()
        return f"{found.group(1)}\n{body}\n<!-- end -->"

    return PART.sub(replace_part, page.read_text(encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """Renew all pages, or with `--check` name those that are out of date."""
    parser = argparse.ArgumentParser(prog="docs/generate.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args(arguments).check
    complaints: list[str] = []
    for page in sorted(DOCS.rglob("*.md")):
        text = renew_page(page, complaints)
        if text == page.read_text(encoding="utf-8"):
            continue
        if check:
            complaints.append(f"{page.relative_to(ROOT)} is out of date; run: make docs-reference")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
