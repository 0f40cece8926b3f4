"""A scripted model that breaks what it touches, for `bench.edits`: it remembers which of its words are broken.

Breaks: another number, another obligation, a negation, a half that is missing. It also leaves out citations, rules
wrongly on doubts, and edits what nobody asked for.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import FactLine, ParsedPrompt, answer_prompt

FRAMES = ("It is said that {}", "In other words, {}", "What is more, {}", "In short, {}", "According to it, {}")
_MARKER = re.compile(r"\[S\d+:C\d+\]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TURNS = (("must not", "may"), ("must", "may"), ("shall", "should"), ("may", "must"), ("can", "cannot"))
_TURNS += (("is", "is not"), ("are", "are not"), ("has", "has no"), ("with", "without"))


class Careless:
    """A model that breaks what it touches. It remembers which of its words are broken."""

    def __init__(self, breaks: float, drops: float) -> None:
        self._breaks, self._drops = breaks, drops
        self._random = random.Random(11)
        self.broken: set[str] = set()
        self.misruled: set[str] = set()  # what it confirmed
        self.written = self.cut = 0

    def answer(self, asked: WireRequest) -> str:
        """Answer as the scripted model, with worse edits and rulings."""
        page = ParsedPrompt.read(asked.system, asked.user)
        if page.role == "edit":
            return json.dumps(self._edit(page, json.loads(answer_prompt(asked.system, asked.user))))
        if page.role == "confirm":
            return json.dumps({"rulings": [self._rule(*each) for each in page.all(r"(D\d+):\s*$")]})
        return answer_prompt(asked.system, asked.user)

    def write(self, words: str, markers: str) -> str:
        """Write a sentence: sometimes broken, sometimes without its citations."""
        self.written += 1
        if self._random.random() < self._breaks:
            words = self._break(words)
            self.broken.add(fold_words(words))
        if markers and self._random.random() < self._drops:
            self.cut += 1
            markers = ""
        return f"{words} {markers}".strip()

    def frame(self, words: str) -> str:
        """Say the same with other words."""
        return self._random.choice(FRAMES).format(words[:1].lower() + words[1:])

    def _edit(self, page: ParsedPrompt, filled: dict[str, Any]) -> dict[str, Any]:
        said = dict(line.split(" | ", 1) for line in page.lines("Its sentences (id") if " | " in line)
        for each in filled["edits"]:
            if each["action"] == "reword":
                old = said.get(each["target"], "")
                words = " ".join(_MARKER.sub("", old).split())
                each["text"] = self.write(self.frame(words), "".join(_MARKER.findall(old)))
            elif each["action"] == "add":
                fact = self._choose_fact(page.facts(), " ".join(said.values()))
                each["text"] = self.write(f"{fact.quote.rstrip(' .')}.", fact.marker)
        if self._random.random() < self._breaks and said:
            other = self._random.choice([*said])
            filled["edits"].append({"action": "drop", "target": other, "text": "", "after": ""})
        return filled

    def _choose_fact(self, facts: Sequence[FactLine], told: str) -> FactLine:
        fresh = [each for each in facts if each.quote.rstrip(" .") not in told and len(each.quote) < 600]
        return self._random.choice(fresh or facts)

    def _rule(self, found: re.Match[str], sentence: str) -> dict[str, Any]:
        carried = (fold_words(sentence) not in self.broken) is not (self._random.random() < self._breaks)
        self.misruled |= {fold_words(sentence)} if carried else set()
        return {"sentence": found.group(1), "carried": carried, "missing": "" if carried else "It says another thing."}

    def _break(self, words: str) -> str:
        ways = [lambda: " ".join(words.split()[: len(words.split()) // 2]) + "."] if len(words.split()) > 8 else []
        if number := _NUMBER.search(words):
            ways.append(lambda: f"{words[: number.start()]}{self._random.randint(100, 999)}{words[number.end() :]}")
        for old, new in _TURNS:
            if re.search(rf"\b{old}\b", words):
                ways.append(lambda old=old, new=new: re.sub(rf"\b{old}\b", new, words, count=1))
                break
        return self._random.choice(ways)() if ways else f"{words.rstrip('.')} in Velmora."


def fold_words(text: str) -> str:
    """Return words without case, layout and final stop."""
    return " ".join(text.split()).rstrip(" .").casefold()
