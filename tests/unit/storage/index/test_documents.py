"""Tokens: counts, codes and blobs, against a plain count."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corrobora.storage.index.bm25 import LENGTHS
from corrobora.storage.index.posting_lists import index_batch, length_codes, unpack_blob
from corrobora.storage.index.terms import TITLE_WEIGHT, Fields, Tokenizer, term_id
from corrobora.text.tokens import split_words, stem_word

_WORDS = st.lists(st.sampled_from(["king", "kings", "the", "Queen", "10", "é", "of", "Rome"]), max_size=30).map(
    " ".join
)


def counted(fields: Fields) -> Counter[int]:
    found: Counter[int] = Counter()
    for text, weight in ((fields.title, TITLE_WEIGHT), (fields.body, 1), (fields.meta, 1)):
        for word in split_words(text):
            if stem_word(word):
                found[term_id(stem_word(word))] += weight
    return found


@given(st.lists(st.builds(Fields, _WORDS, _WORDS, _WORDS), max_size=8))
def test_postings_equal_a_plain_count(batch):
    postings = index_batch(Tokenizer(), batch)
    found = {
        (int(d), int(t)): int(c) >> 8 for d, t, c in zip(postings.docs, postings.terms, postings.codes, strict=True)
    }
    assert found == {(at, t): min(255, n) for at, each in enumerate(batch) for t, n in counted(each).items()}
    assert postings.lengths.tolist() == [
        len(split_words(each.title)) + len(split_words(each.body)) + len(split_words(each.meta)) for each in batch
    ]


@given(st.lists(st.builds(Fields, _WORDS, _WORDS), min_size=1, max_size=8))
def test_both_layouts_hold_the_same_postings(batch):
    postings = index_batch(Tokenizer(), batch)
    by_term = set(zip(*map(np.ndarray.tolist, (postings.terms, postings.docs, postings.codes)), strict=True))
    by_doc = {
        (t, d, c)
        for d, _, n, blob in postings.by_doc()
        for t, c in zip(*map(np.ndarray.tolist, unpack_blob(blob, n)), strict=True)
    }
    assert by_term == by_doc


def test_a_count_over_255_is_capped():
    assert int(index_batch(Tokenizer(), [Fields("", "king " * 300)]).codes[0]) >> 8 == 255


@given(st.integers(0, 1_000_000))
def test_a_length_code_is_right_within_three_per_cent(length):
    code = int(length_codes(np.array([length], np.int32))[0])
    if code < 255:
        assert abs(LENGTHS[code] - length) <= 0.015 * (length + 8) + 0.01


def test_a_question_gives_each_term_once_and_no_stop_word():
    tokenizer = Tokenizer()
    assert tokenizer.query_terms("the king of kings") == [term_id("king")]
    assert tokenizer.query_terms("of the") == []
