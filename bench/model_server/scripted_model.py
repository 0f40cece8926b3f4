"""The obedient reader: answers each role's prompt with real words of that prompt, without any understanding.

Knows how our prompts mark material. Does not know subjects, languages or models: it takes sentences that share words
with the questions. It lets a whole run go over the wire and end in a report whose citations hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import stem_text

_BLOCK = re.compile(r"<data-([0-9a-f]{6})>\n?(.*?)\n?</data-\1>", re.DOTALL)
_ROLE = re.compile(r"^# Role: (\w+)", re.MULTILINE)
_PASSAGE = re.compile(r"^Passage (C\d+)(?:, under [^\n]*)?:$", re.MULTILINE)
_MIN_QUOTE, _MAX_QUOTE = 25, 600
_QUOTES_OF_A_PASSAGE = 2
_FACTS_OF_A_PART = 5
_SAME = "the words of "  # in the place of a quote: that of an earlier fact
_ASPECTS = "overview details date exception source history limits cause effect example change figure".split()


Obey = Callable[["ParsedPrompt"], Mapping[str, object]]
_ANSWERS: dict[str, Obey] = {}


def _answers(*roles: str) -> Callable[[Obey], Obey]:
    """Register the function below for the roles whose prompts start with these names."""

    def register(answer: Obey) -> Obey:
        _ANSWERS.update(dict.fromkeys(roles, answer))
        return answer

    return register


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """A prompt as its blocks of material, each with the words before it."""

    role: str
    text: str
    blocks: tuple[tuple[str, str], ...]  # (the words since the block before, what stands in the block)

    @classmethod
    def read(cls, system: str, user: str) -> ParsedPrompt:
        found = _ROLE.search(system)
        blocks: list[tuple[str, str]] = []
        end = 0
        for match in _BLOCK.finditer(user):
            blocks.append((user[end : match.start()].strip(), match.group(2)))
            end = match.end()
        return cls(found.group(1) if found else "", user, tuple(blocks))

    def after(self, label: str) -> str:
        """Return the first block that follows these words; "" if there is none."""
        return next((inside for before, inside in self.blocks if label in before), "")

    def lines(self, label: str) -> list[str]:
        """Return the lines of the block that follows these words."""
        return [line for line in self.after(label).split("\n") if line.strip()]

    def all(self, pattern: str) -> list[tuple[re.Match[str], str]]:
        """Return every block whose preceding words match, with the match."""
        return [(found, inside) for before, inside in self.blocks if (found := re.search(pattern, before))]

    def questions(self) -> list[tuple[str, str]]:
        """Return ids and texts of the sub-questions."""
        labels = ("ub-questions:", "ub-questions that were given", "ub-questions, as code sees them")
        rows = next((found for label in labels if (found := self.lines(label))), list[str]())
        return [(row.split(" ")[0], row.split(" | ")[1]) for row in rows if " | " in row]

    def find_answered(self) -> set[str]:
        """Return ids of the open sub-questions for which code shows what answers them."""
        rows = [row.split(" | ") for row in self.lines("ub-questions, as code sees them")]
        return {row[0].split(" ")[0] for row in rows if any(row[2:])}

    def past_queries(self) -> list[str]:
        """Return the queries of all rounds so far."""
        rows = [row.split(" | ", 1)[-1] for _, inside in self.all(r"Its queries \(") for row in inside.split("\n")]
        return list(dict.fromkeys((*filter(str.strip, rows), *self.lines("Your queries for this round were refused"))))

    def passages(self) -> list[tuple[str, str]]:
        """Return ids and texts of the passages of all sources."""
        shown = (inside for before, inside in self.blocks if before.endswith("Its passages:"))
        parts = (_PASSAGE.split(inside)[1:] for inside in shown)
        return [(name, text.strip("\n")) for each in parts for name, text in zip(each[::2], each[1::2], strict=True)]

    def facts(self) -> list[FactLine]:
        """Return all facts, in order, each once."""
        rows = [row for _, inside in self.blocks for row in inside.split("\n")]
        found = dict.fromkeys(fact for row in rows if (fact := FactLine.read(row)) is not None)
        quotes = {fact.id: fact.quote for fact in found}
        return [replace(fact, quote=quotes.get(fact.quote.removeprefix(_SAME), fact.quote)) for fact in found]


@dataclass(frozen=True, slots=True)
class FactLine:
    """One fact as our prompts show it."""

    id: str
    marker: str
    answers: tuple[str, ...]
    quote: str

    @classmethod
    def read(cls, row: str) -> FactLine | None:
        found = re.match(r"(?:(F\w+) )?(\[S\d+:C\d+\])(?: [A-Z]+)?(?: for (\S+))? \| (.*)", row)
        if found is None:
            return None
        quote = found.group(4).rpartition(' | "')[2].strip('" …')
        return cls(found.group(1) or "", found.group(2), tuple((found.group(3) or "").split(",")), quote)


def answer_prompt(system: str, user: str) -> str:
    """Return the JSON that the prompt's role asks for. A prompt of no known role gets an empty object."""
    page = ParsedPrompt.read(system, user)
    answer = _ANSWERS.get(page.role)
    return json.dumps(answer(page), ensure_ascii=False) if answer is not None else "{}"


@_answers("clarify")
def _clarify_question(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.after("The question:")
    parts = [part.strip(" ,;.?") for part in re.split(r"(?:, and |; | and |, )", question)]
    asked = [part for part in parts if len(part.split()) >= 3][:4]
    return {
        "feasible": True,
        "complexity": "moderate" if len(asked) > 1 else "simple",
        "queries": [{"question": question, "sub_questions": [question, *asked[1:]]}],
    }


@_answers("plan")
def _make_plan(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.after("The question:")
    slugs = re.findall(r"^- ([\w-]+): <data-", page.text, re.MULTILINE)
    asked = page.questions() or [("", question)]
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


@_answers("refine")
def _refine_tasks(page: ParsedPrompt) -> Mapping[str, object]:
    tasks = [row.split(" | ")[0] for row in page.lines("Its tasks, each")]
    wanted = [row.split(" | ")[0] for row in (*page.lines("Open gaps:"), *page.lines("criteria are unmet:"))]
    asked = page.lines("Queries used so far:")
    wanted = [each for each in wanted if each not in asked] or [f"{each} more" for each in asked[-1:]]
    return {"changes": [{"task": task, "queries": wanted[:2]} for task in tasks if wanted], "why": "To close the gaps."}


@_answers("scope")
def _choose_queries(page: ParsedPrompt) -> Mapping[str, object]:
    found = re.search(r"(\d+) to (\d+) queries", page.text)
    least, most = (int(found.group(1)), int(found.group(2))) if found else (1, 3)
    asked = page.questions()
    past = {line.casefold() for line in page.past_queries()}
    open_texts = [text for _, text in asked]
    terms = page.lines("Words that the sources use:") or page.lines("Words of the sources:")
    wishes = [
        page.after("Forced subject"),
        page.after("Proposed after the last round:"),
        *page.lines("Queries that the planner suggests:"),
        *open_texts,
        *(f"{text} {term}" for text in open_texts[:1] for term in terms[:3]),
        *(row.split(" | ")[0] for row in (*page.lines("Gaps:"), *page.lines("Gaps after it:"))),
    ]
    question = page.after("The question of the whole research:")
    pairs = (" ".join(pair) for pair in combinations(_ASPECTS, 2))  # enough for every iteration of a tree
    spare = [question, *(f"{question} {words}" for words in (*_ASPECTS, *pairs))]
    fresh = list(dict.fromkeys(wish for wish in (*wishes, *spare) if wish and wish.casefold() not in past))
    return {
        "reasoning": "These are open.",
        "goal": fresh[0] if fresh else question,
        "queries": [{"text": text} for text in fresh[: max(least, min(most, 3))]],
        "targets": [each for each, _ in asked],
    }


@_answers("scout")
def _choose_sources(page: ParsedPrompt) -> Mapping[str, object]:
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


@_answers("extract")
def _extract_pick_quotes(page: ParsedPrompt) -> Mapping[str, object]:
    asked = page.questions() or [("", page.after("The question of the research:"))]
    wanted = {each: set(stem_text(text)) for each, text in asked}
    whole = set(stem_text(page.after("The question of the research:"))).union(*wanted.values())
    quotes: list[dict[str, object]] = []
    for name, text in page.passages():
        quotes += _pick_quotes(name, text, wanted, whole)
    said = "It speaks to the questions." if quotes else ""
    sources = re.findall(r"^The source (S\d+): <data-", page.text, re.MULTILINE)  # of a single one no id is shown
    summary = " ".join(f"{source}: {said}" for source in sources) or said
    return {"quotes": quotes, "summary": summary}


def _pick_quotes(passage: str, text: str, wanted: Mapping[str, set[str]], whole: set[str]) -> list[dict[str, object]]:
    ranked: list[tuple[int, str, set[str]]] = []
    for sentence in list_sentences(text):
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
        if shared >= 2
    ]


@_answers("reflect")
def _list_gaps(page: ParsedPrompt) -> Mapping[str, object]:
    facts = page.facts()
    answered = {each for fact in facts for each in fact.answers if each} | page.find_answered()
    missing = [(each, text) for each, text in page.questions() if each not in answered]
    closes = "\nWrite `findings`." in page.text
    return {
        "findings": str(_write_report(page)["body"]) if closes else "",
        "summary": f"{len(facts)} facts so far.",
        "reasoning": "Sub-questions without facts are open.",
        "answered": [{"question": each} for each, _ in page.questions() if each in answered],
        "gaps": [{"text": text, "target": each} for each, text in missing],
        "done": not missing,
        "next_topic": missing[0][1] if missing else "",
        "next": _choose_queries(page) if "The next round, phase" in page.text else {},
    }


@_answers("synthesize", "summarize")
def _write_report(page: ParsedPrompt) -> Mapping[str, object]:
    question = page.after("The question:") or page.after("The question of the whole research:")
    facts = page.facts()
    used: set[str] = set()
    sections: list[str] = []
    angled = "Layout: angles" in page.text
    for number, (each, text) in enumerate(page.questions(), start=1):
        answering = [fact for fact in facts if each in fact.answers]
        own = [fact for fact in answering if fact.id not in used][:_FACTS_OF_A_PART] or answering[:1]
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


@_answers("revise")
@_answers("repair")
def _leave_withheld(_page: ParsedPrompt) -> Mapping[str, object]:
    return {"edits": [], "body": ""}


@_answers("critique")
def _find_no_fault(_page: ParsedPrompt) -> Mapping[str, object]:
    return {"problems": [], "summary": "No fault was found."}


@_answers("confirm")
def _rule_nothing(_page: ParsedPrompt) -> Mapping[str, object]:
    return {"rulings": []}


@_answers("judge")
def _score_draft(_page: ParsedPrompt) -> Mapping[str, object]:
    names = ("factual_accuracy", "citation_accuracy", "completeness", "source_quality", "source_diversity")
    return {**dict.fromkeys(names, 0.85), "rationale": "The sentences stand in the facts."}


_WISH = re.compile(
    r"(?i)\b(drop|move|re-?word|add|shorten|research)\b\D*?(\d+(?:\.\d+)?)(?:\s+(?:behind|after)\s+(\d+(?:\.\d+)?))?"
)


@_answers("edit")
def _make_edits(page: ParsedPrompt) -> Mapping[str, object]:
    """Do what is asked by the name of an edit and an id; new words are the quote of a fact that is cited there."""
    said = dict(line.split(" | ", 1) for line in page.lines("Its sentences (id") if " | " in line)
    edits: list[dict[str, str]] = []
    for found in _WISH.finditer(page.after("The reader says:")):
        action, target, after = found.group(1).lower().replace("-", ""), found.group(2), found.group(3) or ""
        old = said.get(target, "")
        near = [fact for fact in page.facts() if fact.marker in old or action == "add"]
        text = _cite_fact(near[0]) if near and action in ("reword", "add") else old if action == "reword" else ""
        edits.append({"action": action, "target": target, "text": text, "after": after})
    return {"edits": edits, "unclear": "" if edits else "Nothing in it is an edit."}
