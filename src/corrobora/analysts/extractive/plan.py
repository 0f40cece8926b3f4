"""Plan without a model: a tree from the parts of a question, the canonical angles, or a suggested plan.

Knows the profile's way of splitting. Does not judge feasibility: the policies do, after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from corrobora.analysts.extractive.clarify import estimate_complexity
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Criteria, Gate, Node, Plan, Subject, SubQuestion, TaskSpec, collect_leaves
from corrobora.policies.intake import TIERS, Angle, angle_range, read_suggested
from corrobora.policies.queries import select_fresh_queries
from corrobora.roles.forms import shorten_title
from corrobora.roles.plan import Planning
from corrobora.roles.refine import Refinement, Shortfall
from corrobora.text.phrases import format_count
from corrobora.text.questions import find_compared_sides, find_topic_stems, find_topic_words
from corrobora.text.tokens import fold_text, stem_text

_THEME_SIZE = 3  # sub-questions below one inner node of a tree
_QUERIES_OF_A_LEAF = 4
_SAME = 0.85  # share of common terms from which two queries of one thread are one
_TOPIC_WORDS = 4  # of the question in an angle's query, or all angles would ask the same


def make_plan(given: Planning) -> Plan:
    """Return a plan of the requested split; a readable suggested plan that is not too deep is adopted (TREE-10)."""
    tier = given.complexity_hint or estimate_complexity(given.brief.question)
    notes: tuple[str, ...] = ()
    if given.suggested_plan or given.brief.suggested_plan:
        taken = _adopt_suggestion(given)
        if isinstance(taken, Node):
            return Plan(taken, tier, "The suggested plan was taken as it is.")
        notes = (taken,)
    match given.split:
        case "angles":
            root = _plan_angles(given, tier)
        case "tree":
            root = _plan_tree(given)
        case "questions" | "leaf" | "given":  # one thread that holds all sub-questions
            root = _make_leaf(given.path, given.brief.question, given.brief, given.brief.sub_questions, given)
    return Plan(root, tier, f"Split by {given.split} from the structure of the question, without a model.", notes=notes)


def _make_leaf(path: str, title: str, brief: Brief, asked: tuple[SubQuestion, ...], given: Planning) -> Node:
    texts = [brief.question, *(part.text for part in asked)]
    queries = distinct_queries(texts, ())[:_QUERIES_OF_A_LEAF]
    return Node(
        path=path,
        title=shorten_title(title),
        objective=f"Find literal evidence for: {title}",
        sub_questions=asked,
        subjects=_relevant_subjects(brief, texts if len(asked) > 1 or not asked else [asked[0].text]),
        queries=queries,
        specs=_task_specs(asked) if given.split == "tree" else (),
    )


def _task_specs(asked: tuple[SubQuestion, ...]) -> tuple[TaskSpec, ...]:
    questions = tuple(part.text for part in asked)
    if not questions:
        return ()
    text = "Answer from this source only, with literal quotes: " + " ".join(questions)
    return (
        TaskSpec(
            questions,
            expected_format="facts with literal quotes",
            acceptance_criteria="each quote stands in the source and speaks to one of the questions",
            verbatim=text,
        ),
    )


def _relevant_subjects(brief: Brief, texts: Sequence[str]) -> tuple[Subject, ...]:
    said = set(stem_text(" ".join(texts)))
    return tuple(s for s in brief.subjects if set(stem_text(s.name)) & said or not stem_text(s.name)) or brief.subjects


def _make_child(path: str, brief: Brief, asked: tuple[SubQuestion, ...], given: Planning) -> Node:
    own = Brief(
        asked[0].text if len(asked) == 1 else " ".join(each.text for each in asked)[: LIMITS.query_max_chars],
        asked,
        brief.subjects,
    )
    return _make_leaf(path, asked[0].text if len(asked) == 1 else _shared_theme(asked), own, asked, given)


def _shared_theme(asked: Sequence[SubQuestion]) -> str:
    """Name a group of sub-questions by their common words, else by the first one."""
    first = asked[0].text
    shared = set(stem_text(first)).intersection(*(set(stem_text(part.text)) for part in asked[1:]))
    kept = [word.strip("?.,;:") for word in first.split() if set(stem_text(word)) & shared]
    return " ".join(kept) or first


def _plan_tree(given: Planning) -> Node:
    """Inner nodes by theme, at most `max_depth` executor levels, a gate with criteria at each."""
    brief = given.brief
    asked = brief.sub_questions or (SubQuestion("sq-1", brief.question),)
    groups = [asked[at : at + _THEME_SIZE] for at in range(0, len(asked), _THEME_SIZE)]
    nested = len(groups) > 1 and given.max_depth > 1
    children: list[Node] = []
    if given.discovery:
        children.append(_discovery_leaf(f"{given.path}/1", brief))
    room = max(1, given.max_leaves - len(children))
    for group in groups if nested else [asked]:
        taken = group[:room]
        if not taken:
            break
        room -= len(taken)
        path = f"{given.path}/{len(children) + 1}"
        if nested and len(taken) > 1:
            below = tuple(_make_child(f"{path}/{n}", brief, (part,), given) for n, part in enumerate(taken, start=1))
            children.append(
                Node(
                    path,
                    shorten_title(_shared_theme(taken)),
                    f"Gather: {_shared_theme(taken)}",
                    below,
                    taken,
                    gates=(_make_gate(taken, given),),
                )
            )
        elif nested:
            children.append(_make_child(path, brief, taken, given))
        else:
            children += [
                _make_child(f"{given.path}/{len(children) + 1 + n}", brief, (part,), given)
                for n, part in enumerate(taken)
            ]
    return Node(
        given.path,
        shorten_title(brief.question),
        f"Answer: {brief.question}",
        tuple(children),
        asked,
        brief.subjects,
        gates=(_make_gate(asked, given),),
    )


def _make_gate(asked: Sequence[SubQuestion], given: Planning) -> Gate:
    themes = tuple(" ".join(find_topic_stems(part.text)[:4]) for part in asked)
    return Gate(
        "gather",
        Criteria(corroboration=1, themes=themes, minimum_confidence=0.3),
        max_iterations=max(1, min(2, given.max_rounds)),
    )


def _discovery_leaf(path: str, brief: Brief) -> Node:
    return Node(
        path,
        "Discovery of sources",
        f"Curate sources for: {brief.question}",
        sub_questions=brief.sub_questions,
        subjects=brief.subjects,
        queries=distinct_queries([brief.question, *(part.text for part in brief.sub_questions)], ()),
        discovery=True,
        max_rounds=1,
    )


def _plan_angles(given: Planning, tier: str) -> Node:
    """Choose angles by tier and relevance, each with its own task and distinct queries (ANGLES-7)."""
    brief = given.brief
    chosen = _choose_angles(given, tier)
    if not chosen:
        return _make_leaf(given.path, brief.question, brief, brief.sub_questions, given)
    asked: list[str] = []
    children: list[Node] = []
    topic = " ".join(topic_text(brief.question).split()[:_TOPIC_WORDS])
    for number, angle in enumerate(chosen, start=1):
        guided = [f"{topic} {angle.title}", *(f"{topic} {part}" for part in _narrow_directions(angle))]
        if number == 1:
            guided.insert(0, brief.question)
        queries = select_fresh_queries(distinct_queries(guided, ()), asked)[:_QUERIES_OF_A_LEAF] or (angle.title,)
        asked += queries
        others = "; ".join(other.title for other in chosen if other.slug != angle.slug)
        children.append(
            Node(
                f"{given.path}/{number}",
                shorten_title(f"{angle.title}: {', '.join(s.name for s in brief.subjects[:2]) or topic}"),
                f"{angle.title}: find literal evidence on {topic}. {angle.guidance}".strip(),
                sub_questions=_deal_questions(brief, number, len(chosen)),
                subjects=brief.subjects,
                angle=angle.slug,
                output_format="a summary of cited statements, best first",
                queries=queries,
                out_of_scope=f"Left to other angles: {others}" if others else "",
                max_rounds=given.max_rounds,
            )
        )
    return Node(
        given.path,
        shorten_title(brief.question),
        f"Report on: {brief.question}",
        tuple(children),
        brief.sub_questions,
        brief.subjects,
    )


def _deal_questions(brief: Brief, number: int, many: int) -> tuple[SubQuestion, ...]:
    """Distribute the sub-questions over the angles; an angle without any works on all of them."""
    own = tuple(part for at, part in enumerate(brief.sub_questions) if at % many == number - 1)
    return own or brief.sub_questions


def _choose_angles(given: Planning, tier: str) -> tuple[Angle, ...]:
    low, high = angle_range(tier if tier in TIERS else "moderate")
    pool = list(given.angles)
    if given.dynamic_angles:
        high = max(high, given.max_leaves)
        pool = [*_derive_angles(given.brief), *pool]
    wanted = set(stem_text(given.brief.question))
    stems = [set(stem_text(f"{angle.title} {angle.guidance}")) for angle in pool]
    scored = [(len(wanted & own), at, angle) for at, (own, angle) in enumerate(zip(stems, pool, strict=True))]
    ranked = sorted(scored, key=lambda row: (-row[0], row[1]))
    fitting = sum(fit > 0 for fit, _, _ in ranked)
    many = min(max(low, min(high, fitting)), given.max_leaves, len(pool))
    kept = sorted(ranked[:many], key=lambda row: row[1])
    return tuple(angle for _, _, angle in kept)


def _derive_angles(brief: Brief) -> list[Angle]:
    """Derive an angle from each part of the question and each compared side (`--angles dynamic`)."""
    found: dict[str, Angle] = {}
    for text in (*(part.text for part in brief.sub_questions), *find_compared_sides(brief.question)):
        title = topic_text(text)
        slug = "-".join(stem_text(title)[:6])
        if slug and slug not in found:
            found[slug] = Angle(slug, title[:1].upper() + title[1:], f"Everything that answers: {text}")
    return list(found.values()) if len(found) > 1 else []


def topic_text(question: str) -> str:
    """Return the topic words of a question as spelled, or, if it has none, the question."""
    most = LIMITS.query_max_chars // 2
    return find_topic_words(question)[:most].strip() or question[:most].strip("? ")


def _narrow_directions(angle: Angle) -> list[str]:
    """Return the parts of an angle's guidance as narrower directions."""
    text = angle.guidance or angle.title
    pieces = text.replace(";", ",").replace(".", ",").replace(" and ", ",").split(",")
    return [piece.strip() for piece in pieces if 1 <= len(stem_text(piece)) <= 5]  # noqa: PLR2004 - a direction, not a sentence


def distinct_queries(texts: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that are no near-copies of each other or of `asked`, cut to the limit of a query."""
    queries = (" ".join(text.split())[: LIMITS.query_max_chars].strip() for text in texts)
    return select_fresh_queries(filter(stem_text, queries), asked, share=_SAME)


def _adopt_suggestion(given: Planning) -> Node | str:
    """Adopt a suggested plan and complete its sub-questions, or return why it was not adopted (TREE-10)."""
    try:
        root = read_suggested(given.suggested_plan or given.brief.suggested_plan, given.path)
    except UserError as error:
        return f"{error.message} A new plan was made instead."
    return _assign_questions(root, given, _SubQuestionIds(given.brief.sub_questions))


class _SubQuestionIds:
    """Ids for sub-questions without one; equal texts share an id."""

    def __init__(self, known: Sequence[SubQuestion]) -> None:
        self._by_text = {" ".join(part.text.split()): part for part in known}
        self._ids = {part.id for part in known}

    def assign_id(self, part: SubQuestion) -> SubQuestion:
        """Return the sub-question with an id that is unique here."""
        text = " ".join(part.text.split())
        if text not in self._by_text:
            free = next(f"sq-{n}" for n in count(1) if f"sq-{n}" not in self._ids)
            self._by_text[text] = SubQuestion(part.id if part.id and part.id not in self._ids else free, part.text)
            self._ids.add(self._by_text[text].id)
        return self._by_text[text]


def _assign_questions(node: Node, given: Planning, numbers: _SubQuestionIds) -> Node:
    """Give each node its sub-questions: its own, those of its specs, else those of the brief on its topic."""
    children = tuple(_assign_questions(child, given, numbers) for child in node.children)
    own = node.sub_questions or tuple(SubQuestion("", text) for spec in node.specs for text in spec.questions)
    if not own and children:
        own = tuple({part.id: part for child in children for part in child.sub_questions}.values())
    elif not own:
        named = set(stem_text(node.title))
        matching = tuple(p for p in given.brief.sub_questions if not named.isdisjoint(find_topic_stems(p.text)))
        own = matching or given.brief.sub_questions
    asked = tuple(dict.fromkeys(numbers.assign_id(part) for part in own))
    gates = node.gates or ((_make_gate(asked, given),) if children else ())
    queries = node.queries or (() if children else distinct_queries((node.title,), ()))
    subjects = node.subjects or given.brief.subjects
    return replace(node, children=children, sub_questions=asked, gates=gates, queries=queries, subjects=subjects)


def refine_plan(given: Shortfall) -> Refinement:
    """Answer unmet criteria of a gate with new queries and linked sources; never with new nodes (TREE-27)."""
    below = [leaf for leaf in collect_leaves(given.node) if not leaf.discovery]
    asked = list(given.asked)
    changes: list[tuple[str, tuple[str, ...]]] = []
    for leaf in below:
        own = {part.id for part in leaf.sub_questions}
        gaps = [gap for gap in given.gaps if not gap.target or gap.target in own or len(below) == 1]
        texts = [gap.text for gap in gaps]
        texts += [
            f"{topic_text(part.text)} {extra}" for part in leaf.sub_questions for extra in _search_words(given.unmet)
        ]
        texts += [topic_text(part.text) for part in leaf.sub_questions]
        fresh = distinct_queries([text.split(": ", 1)[-1] for text in texts], asked)[:3]
        asked += fresh
        if fresh:
            changes.append((leaf.path, fresh))
    linked = sorted(given.linked, key=lambda link: (-link.priority, link.reference))
    sources = tuple(dict.fromkeys(link.reference for link in linked if "://" in link.reference))[:5]
    places = ((below[0].path, sources),) if below and sources else ()
    why = f"Iteration {given.iteration}: unmet: {'; '.join(given.unmet) or 'nothing named'}; "
    queries = format_count(sum(len(asked) for _, asked in changes), "query", "queries")
    return Refinement(tuple(changes), places, f"{why}added {queries}, {format_count(len(sources), 'source')}.")


def _search_words(unmet: Sequence[str]) -> list[str]:
    """Turn unmet criteria into search words: the words of a theme, or words of confirmation."""
    found: list[str] = []
    for text in unmet:
        folded = fold_text(text)
        if "corrobor" in folded or "confidence" in folded or "contradict" in folded:
            found.append("confirmed evidence")
        elif stem_text(text):
            found.append(topic_text(text))
    return found
