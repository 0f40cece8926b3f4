"""Checkers: `corrobora verify`'s check of a sentence beside the field's offline checkers, on the same pairs.

Run it as `python -m bench.checkers [--keep FOLDER]`. Each of the others is installed from the package index into an
environment of its own and asked through its own functions: sentence and passage in, verdict out. What cannot be
installed, or needs a model or a network, is said and not counted. Pairs: `support_pairs.txt` (ours was developed with
it) and `checker_pairs.txt` (written for this comparison alone). Two readings of a verdict are counted: *not supported*
is everything but "supported", *denied* only what is called unsupported or contradicted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.support import Case, judge_sentence, read_cases
from corrobora.domain.report import Support

SETS = ("support_pairs.txt", "checker_pairs.txt")
_INSTALL_SECONDS = 900
_ASK_SECONDS = 600
_WRAP = """
import json, sys
pairs = json.load(sys.stdin)
{body}
json.dump([verdict(*pair) for pair in pairs], sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Rival:
    """A checker of another project: how it is asked, and which part of it does not run offline."""

    package: str
    body: str  # defines `verdict(sentence, passage)`, which returns supported, unsure or denied
    note: str = ""


RIVALS = (
    Rival(
        "citesure",
        """
from citesure.overlap import score_overlap, segment_passages, status_for_score
words = {"supported": "supported", "ambiguous": "unsure", "unsupported": "denied"}
def verdict(sentence, passage):
    return words[status_for_score(score_overlap(sentence, segment_passages(passage))[0]).value]
""",
        "its overlap tier; the entailment tier needs a model of 425 MB: not run",
    ),
    Rival(
        "citevahti",
        """
from citevahti.claimcheck.service import ClaimCheckService
from citevahti.retrieval.source import FullTextDoc, StaticTextSource
from citevahti.schemas.common import ItemRef
def verdict(sentence, passage):
    source = StaticTextSource({"k": ItemRef(zotero_key="Z", citekey="k")}, {"Z": FullTextDoc(passage)})
    found = ClaimCheckService(source)._check_one(sentence, "k", False, "personal")
    doubts = (found.polarity_cue, found.population_cue, found.certainty_cue)
    if found.status != "supported_candidate":
        return "denied"
    return "unsure" if any(doubts) else "supported"
""",
        "its claim check; its ratings by a person or a model: not run",
    ),
    Rival(
        "linkml-reference-validator",
        """
from linkml_reference_validator.models import ReferenceContent, ReferenceValidationConfig
from linkml_reference_validator.validation.supporting_text_validator import SupportingTextValidator
check = SupportingTextValidator(ReferenceValidationConfig())
def verdict(sentence, passage):
    held = ReferenceContent(reference_id="X:1", content=passage)
    return "supported" if check.find_text_in_reference(sentence, held).found else "denied"
""",
        "made for literal quotations: a restatement is no quotation",
    ),
    Rival(
        "proofpath",
        """
from proofpath import numerics
from proofpath.models import Passage
def verdict(sentence, passage):
    found = numerics.check(sentence, [Passage(passage, "s", 0)])
    return "denied" if found is not None and found.mismatch else "supported"
""",
        "its layer of numbers; the entailment layer needs a model from the network: not run",
    ),
)


def judge_ours(sentence: str, case: Case) -> str:
    """Return our verdict in the words of the comparison."""
    found = judge_sentence(sentence, case.evidence)
    if found.support is Support.SUPPORTED:
        return "supported"
    denied = found.withholds or found.support in (Support.UNSUPPORTED, Support.CONTRADICTED)
    return "denied" if denied else "unsure"


def ask_rival(rival: Rival, cases: Sequence[Case], folder: Path) -> list[str] | str:
    """Return the verdicts of a rival, or why there are none."""
    place = folder / rival.package
    python = place / "bin" / "python"
    try:
        if not python.exists():
            _run_command([sys.executable, "-m", "venv", str(place)], _INSTALL_SECONDS)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", rival.package]
        _run_command(pip, _INSTALL_SECONDS)
        pairs = json.dumps([(case.sentence, " ".join(each.quote for each in case.evidence)) for case in cases])
        asked = _run_command([str(python), "-c", _WRAP.format(body=rival.body)], _ASK_SECONDS, pairs)
        return json.loads(asked)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        return said[-1][:200] if said else type(error).__name__


def _run_command(command: Sequence[str], seconds: float, given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=seconds)
    return done.stdout


def count_verdicts(cases: Sequence[Case], verdicts: Sequence[str]) -> list[tuple[int, int]]:
    """Return false and honest sentences that are not called supported, then those that are denied."""
    pairs = list(zip(cases, verdicts, strict=True))
    readings = (("unsure", "denied"), ("denied",))
    return [
        (sum(bool(c.kind) and v in bad for c, v in pairs), sum(not c.kind and v in bad for c, v in pairs))
        for bad in readings
    ]


def print_row(name: str, cases: Sequence[Case], verdicts: Sequence[str]) -> None:
    """Print what a checker caught and what it refused, in both readings."""
    false = sum(bool(case.kind) for case in cases)
    honest = len(cases) - false
    cells = (
        f"{what}: {caught:3} of {false} false ({caught / false:4.0%}), "
        f"{lost:2} of {honest} honest ({lost / honest:4.0%})"
        for what, (caught, lost) in zip(("not supported", "denied"), count_verdicts(cases, verdicts), strict=True)
    )
    print(f"  {name:27} {'; '.join(cells)}")


def main(folder: Path) -> int:
    """Print a table for each set of pairs; return 1 if a rival catches more and refuses no more than ours."""
    here = Path(__file__).parent
    behind = False
    for name in SETS:
        cases = list(read_cases(here / name))
        print(f"{name}: {sum(bool(each.kind) for each in cases)} false, {sum(not each.kind for each in cases)} honest")
        ours = [judge_ours(case.sentence, case) for case in cases]
        print_row("corrobora", cases, ours)
        for rival in RIVALS:
            found = ask_rival(rival, cases, folder)
            if isinstance(found, str):
                print(f"  {rival.package:28} not run: {found}")
                continue
            print_row(rival.package, cases, found)
            print(f"  {'':28} ({rival.note})")
            behind |= _is_ahead(cases, found, ours)
    return 1 if behind else 0


def _is_ahead(cases: Sequence[Case], theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """True if a rival, in one reading, catches more false claims and refuses no more honest sentences than ours."""
    both = zip(count_verdicts(cases, theirs), count_verdicts(cases, ours), strict=True)
    return any(their[0] > our[0] and their[1] <= our[1] for their, our in both)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="where the environments are kept; a folder of this run by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-checkers-") as temporary:
        raise SystemExit(main(given.keep or Path(temporary)))
