"""What holds for any text."""

import unicodedata

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentkit.text import (
    cut_tokens,
    estimate_tokens,
    normalise,
    pack_terms,
    term_counts,
    terms,
    unpack_terms,
)

ANY = st.text(alphabet=st.characters(), max_size=200)
MIXED = st.text(alphabet="ab é 日本語中文 가나 .-_'", max_size=120)


@given(ANY)
def test_the_normal_form_is_stable_and_can_be_stored(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "\x00" not in once
    once.encode("utf-8")


@given(MIXED)
def test_composed_and_decomposed_text_counts_the_same(text: str) -> None:
    apart, together = (unicodedata.normalize(form, text) for form in ("NFD", "NFC"))
    assert terms(apart) == terms(together)


@given(ANY | MIXED)
def test_terms_come_back_as_they_were_packed(text: str) -> None:
    counts = term_counts(text)
    back = unpack_terms(pack_terms(counts))
    assert np.array_equal(back.terms, counts.terms)
    assert np.array_equal(back.counts, counts.counts)
    assert back.length == counts.length == int(counts.counts.sum())


@given(MIXED, MIXED)
def test_an_estimate_never_shrinks_when_text_is_added(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more)
    assert estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)


@given(MIXED, st.integers(0, 60))
def test_a_cut_text_fits_its_budget(text: str, budget_tokens: int) -> None:
    assert estimate_tokens(cut_tokens(text, budget_tokens)) <= budget_tokens
