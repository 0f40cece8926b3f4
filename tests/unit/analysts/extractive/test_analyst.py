"""ExtractiveAnalyst: plays every role, always the same way, and never anything else."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, brief, excerpt, facts_of, needs, play

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.errors import RoleError
from corrobora.domain.report import Draft
from corrobora.ports import Analyst
from corrobora.roles.clarify import Asking, clarify
from corrobora.roles.extract import extract
from corrobora.roles.plan import Planning, plan
from corrobora.roles.review import Reviewing, critique, judge
from corrobora.roles.scope import scope


def test_it_is_an_analyst_with_a_name_and_a_version():
    analyst = ExtractiveAnalyst()
    assert isinstance(analyst, Analyst)
    assert analyst.name == "extractive"
    assert analyst.identity(clarify) != analyst.identity(plan)


def test_the_same_input_gives_the_same_answer():
    assert play(clarify, Asking("root", brief())) == play(clarify, Asking("root", brief()))
    assert play(plan, Planning("root", brief(), "tree")) == play(plan, Planning("root", brief(), "tree"))
    assert play(scope, needs()) == play(scope, needs())
    assert play(extract, excerpt(NEW_DOCUMENT)) == play(extract, excerpt(NEW_DOCUMENT))


def test_the_answer_says_who_gave_it_and_costs_nothing():
    answer = asyncio.run(ExtractiveAnalyst().play(scope, needs()))
    assert answer.analyst == "extractive"
    assert answer.usage.calls == 0


def test_two_roles_with_one_input_are_told_apart():
    given = Reviewing("root", "What is a kiln?", Draft("T", "# T\n"), facts_of(NEW_DOCUMENT))
    assert type(play(critique, given)).__name__ == "Critique"
    assert type(play(judge, given)).__name__ == "Verdict"


def test_an_unknown_input_is_refused():
    with pytest.raises(RoleError, match="str"):
        play(scope, "no input of a role")  # type: ignore[arg-type]
