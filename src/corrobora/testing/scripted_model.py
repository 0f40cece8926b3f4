"""The obedient reader: answers each role's prompt with real words of that prompt, without any understanding.

Knows how our prompts mark material. Does not know subjects, languages or models: it takes sentences that share words
with the questions. It lets a whole run go over the wire and end in a report whose citations hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import stem_text

_BLOCK = re.compile(r"<data-([0-9a-f]{10})>\n?(.*?)\n?</data-\1>", re.DOTALL)
_ROLE = re.compile(r"^# Role: (\w+)", re.MULTILINE)
_MIN_QUOTE, _MAX_QUOTE = 25, 600
_QUOTES_OF_A_PASSAGE = 2
_FACTS_OF_A_PART = 5
_ASPECTS = "overview details date exception source history limits cause effect example change figure".split()


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """A prompt as its blocks of material, each with the words before it."""

    role: str
    text: str
    blocks: tuple[tuple[str, str], ...]  # (the words since the block before, what stands in the block)

    @classmethod
    def parse_prompt(cls, system: str, user: str) -> ParsedPrompt:
        """Take a prompt apart."""
        found = _ROLE.search(system)
        blocks: list[tuple[str, str]] = []
        end = 0
        for match in _BLOCK.finditer(user):
            blocks.append((user[end : match.start()].strip(), match.group(2)))
            end = match.end()
        return cls(found.group(1) if found else "", user, tuple(blocks))

    def block_after(self, label: str) -> str:
        """Return the first block that follows these words; "" if there is none."""
        return next((inside for before, inside in self.blocks if label in before), "")

    def lines_after(self, label: str) -> list[str]:
        """Return the lines of the block that follows these words."""
        return [line for line in self.block_after(label).split("\n") if line.strip()]

    def matching_blocks(self, pattern: str) -> list[tuple[re.Match[str], str]]:
        """Return every block whose preceding words match, with the match."""
        return [(found, inside) for before, inside in self.blocks if (found := re.search(pattern, before))]

    def question_rows(self) -> list[tuple[str, str]]:
        """Return ids and texts of the sub-questions."""
        rows = self.lines_after("ub-questions:") or self.lines_after("ub-questions that were given")
        return [(row.split(" ")[0], row.split(" | ")[1]) for row in rows if " | " in row]

    def fact_lines(self) -> list[FactLine]:
        """Return all facts, in order, each once."""
        rows = [row for _, inside in self.matching_blocks(r"\(id, marker, grade") for row in inside.split("\n")]
        return list(dict.fromkeys(fact for row in rows if (fact := FactLine.parse_row(row)) is not None))


@dataclass(frozen=True, slots=True)
class FactLine:
    """One fact as our prompts show it."""

    id: str
    marker: str
    answers: tuple[str, ...]
    quote: str

    @classmethod
    def parse_row(cls, row: str) -> FactLine | None:
        """Read one line; None if it is no fact."""
        found = re.match(r"(F\w+) (\[S\d+:C\d+\]) \w+(?: for (\S+))? \| (.*)", row)
        if found is None:
            return None
        quote = found.group(4).rpartition(' | "')[2].strip('" ')
        return cls(found.group(1), found.group(2), tuple((found.group(3) or "").split(",")), quote)


def answer_prompt(system: str, user: str) -> str:
    """Return the JSON that the prompt's role asks for. A prompt of no known role gets an empty object."""
    page = ParsedPrompt.parse_prompt(system, user)
    answer = _ANSWERS.get(page.role)
    return json.dumps(answer(page), ensure_ascii=False) if answer is not None else "{}"


def _answer_clarify(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.block_after("The question:")
    parts = [part.strip(" ,;.?") for part in re.split(r"(?:, and |; | and |, )", question)]
    asked = [part for part in parts if len(part.split()) >= 3][:4]  # noqa: PLR2004 - a part that says something
    return {
        "feasible": True,
        "complexity": "moderate" if len(asked) > 1 else "simple",
        "queries": [{"question": question, "sub_questions": [question, *asked[1:]]}],
    }


def _answer_plan(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.block_after("The question:")
    slugs = re.findall(r"^- ([\w-]+): <data-", page.text, re.MULTILINE)
    asked = page.question_rows() or [("", question)]
    found = re.search(r"Split: (\w+)\. At most (\d+) tasks", page.text)
    split, most = (found.group(1), int(found.group(2))) if found else ("leaf", 1)
    if split == "angles" and slugs:
        chosen = slugs[: min(most, 3)]
        tasks = [_make_task(slug, question, [], angle=slug) for slug in chosen]
        tasks[0]["sub_questions"] = [each for each, _ in asked if each]
    elif split in ("questions", "tree") and len(asked) > 1:
        tasks = [_make_task(each, text, [each]) for each, text in asked[:most]]
    else:
        tasks = [_make_task("all", question, [each for each, _ in asked if each])]
    return {"tier": "moderate" if len(tasks) > 1 else "simple", "tasks": tasks, "rationale": "As asked."}


def _make_task(key: str, about: str, asked: Sequence[str], *, angle: str = "") -> dict[str, object]:
    words = f"{about} {angle.replace('-', ' ')}".strip()
    return {
        "key": key,
        "title": words[:100],
        "objective": f"Find what the sources say about: {words}",
        "queries": [words],
        "sub_questions": list(asked),
        "angle": angle,
    }


def _answer_refine(page: ParsedPrompt) -> Mapping[str, object]:
    tasks = [row.split(" | ")[0] for row in page.lines_after("Its tasks:")]
    wanted = [
        row.split(" | ")[0] for row in (*page.lines_after("Open gaps:"), *page.lines_after("criteria are unmet:"))
    ]
    return {"changes": [{"task": task, "queries": wanted[:2]} for task in tasks if wanted], "why": "To close the gaps."}


def _answer_scope(page: ParsedPrompt) -> Mapping[str, object]:
    found = re.search(r"(\d+) to (\d+) queries", page.text)
    least, most = (int(found.group(1)), int(found.group(2))) if found else (1, 3)
    asked = page.question_rows()
    past = {line.casefold() for line in page.lines_after("Queries so far:")}
    open_texts = [text for _, text in asked]
    terms = page.lines_after("Words that the sources use:")
    wishes = [
        page.block_after("Forced subject"),
        page.block_after("Proposed after the last round:"),
        *page.lines_after("Queries that the planner suggests:"),
        *open_texts,
        *(f"{text} {term}" for text in open_texts[:1] for term in terms[:3]),
        *(row.split(" | ")[0] for row in page.lines_after("Gaps:")),
    ]
    question = page.block_after("The question of the whole research:")
    spare = [question, *(f"{question} {word}" for word in _ASPECTS)]
    fresh = list(dict.fromkeys(wish for wish in (*wishes, *spare) if wish and wish.casefold() not in past))
    return {
        "reasoning": "These are open.",
        "goal": fresh[0] if fresh else question,
        "queries": [{"text": text} for text in fresh[: max(least, min(most, 3))]],
        "targets": [each for each, _ in asked],
    }


def _answer_scout(page: ParsedPrompt) -> Mapping[str, object]:
    labels = re.findall(r"^- (K\d+), cluster", page.text, re.MULTILINE)
    found = re.search(r"Choose at most (\d+)", page.text)
    most = int(found.group(1)) if found else len(labels)
    score = {
        "authority": 0.7,
        "recency": 0.6,
        "coverage": 0.7,
        "diversity": 0.6,
        "rationale": "It speaks to the objective.",
    }
    return {"sources": [{"candidate": label, **score} for label in labels[:most]], "excluded": []}


def _answer_extract(page: ParsedPrompt) -> Mapping[str, object]:
    asked = page.question_rows() or [("", page.block_after("The question of the research:"))]
    wanted = {each: set(stem_text(text)) for each, text in asked}
    whole = set(stem_text(page.block_after("The question of the research:"))).union(*wanted.values())
    quotes: list[dict[str, object]] = []
    for found, inside in page.matching_blocks(r"Passage (C\d+)(?:, under)?:?\s*$"):
        text = inside
        if found.group().rstrip().endswith("under"):  # the heading stands first, the passage in the next block
            text = next((b for before, b in page.blocks[_block_index(page, inside) + 1 :] if before == ":"), "")
        quotes += _rank_quotes(found.group(1), text, wanted, whole)
    return {"relevant": bool(quotes), "quotes": quotes, "summary": "It speaks to the questions." if quotes else ""}


def _block_index(page: ParsedPrompt, inside: str) -> int:
    return next(at for at, (_, each) in enumerate(page.blocks) if each is inside)


def _rank_quotes(passage: str, text: str, wanted: Mapping[str, set[str]], whole: set[str]) -> list[dict[str, object]]:
    ranked: list[tuple[int, str, set[str]]] = []
    for span in split_sentences(text):
        sentence = text[span.start : span.end].strip()
        if _MIN_QUOTE <= len(sentence) <= _MAX_QUOTE:
            words = set(stem_text(sentence))
            ranked.append((len(words & whole), sentence, words))
    best = sorted(ranked, key=lambda each: (-each[0], each[1]))[:_QUOTES_OF_A_PASSAGE]
    return [
        {
            "passage": passage,
            "quote": sentence,
            "claim": " ".join(sentence.split()),
            "confidence": min(1.0, 0.4 + 0.1 * shared),
            "answers": [
                each for each, stemmed in wanted.items() if each and len(stemmed & words) >= min(2, len(stemmed))
            ],
        }
        for shared, sentence, words in best
        if shared >= 2  # noqa: PLR2004 - one common word is chance
    ]


def _answer_reflect(page: ParsedPrompt) -> Mapping[str, object]:
    facts = page.fact_lines()
    answered = {each for fact in facts for each in fact.answers if each}
    missing = [(each, text) for each, text in page.question_rows() if each not in answered]
    return {
        "summary": f"{len(facts)} facts so far.",
        "reasoning": "Sub-questions without facts are open.",
        "answered": [each for each, _ in page.question_rows() if each in answered],
        "gaps": [{"text": text, "target": each} for each, text in missing],
        "done": not missing,
        "should_continue": bool(missing),
        "next_topic": missing[0][1] if missing else "",
    }


def _answer_report(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.block_after("The question:") or page.block_after("The question of the whole research:")
    facts = page.fact_lines()
    used: set[str] = set()
    sections: list[str] = []
    angled = "Layout: angles" in page.text
    for number, (each, text) in enumerate(page.question_rows(), start=1):
        own = [fact for fact in facts if each in fact.answers and fact.id not in used][:_FACTS_OF_A_PART]
        used |= {fact.id for fact in own}
        head = f"## {number}. {text}" if angled else f"## {text}"
        body = " ".join(_cite_fact(fact) for fact in own) or "Nothing was found for this part."
        sections.append(f"{head}\n\n{body}")
    rest = [fact for fact in facts if fact.id not in used][:_FACTS_OF_A_PART]
    opening = (
        " ".join(_cite_fact(fact) for fact in (rest or facts)[:2]) or "Nothing was found that answers the question."
    )
    joint = "\n\n---\n\n" if angled else "\n\n"
    body = joint.join([opening, *sections])
    if angled:
        body += f"\n\n---\n\n## Conclusion\n\n{opening}"
    return {"title": question[:120].rstrip("?") or "Findings", "body": body}


def _cite_fact(fact: FactLine) -> str:
    return f"{fact.quote.rstrip(' .')} {fact.marker}."


def _answer_revise(page: ParsedPrompt) -> Mapping[str, object]:
    drafts = page.matching_blocks(r"The draft, ?$")
    title = drafts[0][1] if drafts else "Report"
    body = next((inside for before, inside in page.blocks if before == ":"), "")
    return {"title": title, "body": body}


def _answer_judge(_page: ParsedPrompt) -> Mapping[str, object]:
    names = ("factual_accuracy", "citation_accuracy", "completeness", "source_quality", "source_diversity")
    return {**dict.fromkeys(names, 0.85), "rationale": "The sentences stand in the facts."}


_ANSWERS: Mapping[str, Callable[[ParsedPrompt], Mapping[str, object]]] = {
    "clarify": _answer_clarify,
    "plan": _answer_plan,
    "refine": _answer_refine,
    "scope": _answer_scope,
    "scout": _answer_scout,
    "extract": _answer_extract,
    "reflect": _answer_reflect,
    "synthesize": _answer_report,
    "summarize": _answer_report,
    "critique": lambda _page: {"problems": [], "summary": "No fault was found."},
    "revise": _answer_revise,
    "judge": _answer_judge,
}
