"""Words, counts and estimates of English and Chinese text."""

import pytest

from agentkit.text import (
    cjk_share,
    cut_tokens,
    estimate_tokens,
    language_of,
    normalise,
    one_line,
    pack_terms,
    query_term_counts,
    stem,
    term_counts,
    term_hash,
    terms,
    unpack_terms,
)

J = "明日の定例会議は午前十時に第三会議室で行います"
HANGUL = "내일정례회의는오전열시에제삼회의실에서합니다"


def test_english_words_are_folded_and_joined_ones_found_by_their_parts_too() -> None:
    assert terms("The Sales-Report isn't sales_report.csv!") == [
        "the",
        *("sales-report", "sales", "report"),
        *("isn't", "isn", "t"),
        *("sales_report.csv", "sales", "report", "csv"),
    ]


def test_chinese_gives_characters_and_pairs() -> None:
    assert terms("缺失值") == ["缺", "失", "值", "缺失", "失值"]
    assert terms("用CSV表") == ["用", "csv", "表"]
    assert terms("值") == ["值"]


def test_composed_and_decomposed_accents_have_the_same_terms() -> None:
    assert terms("caf\u00e9") == terms("cafe\u0301") == ["café"]
    assert normalise("cafe\u0301") == "caf\u00e9"


def test_bytes_that_no_database_takes_are_gone() -> None:
    assert normalise("a\x00b") == "ab"
    normalise("half \ud800 pair").encode("utf-8")


@pytest.mark.parametrize("text", ["", "  ", "?!…", "\n"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert terms(text) == []
    assert term_counts(text).length == 0


def test_counts_are_sorted_by_hash_and_know_repeats() -> None:
    counts = term_counts("csv csv table")
    assert counts.length == 3
    assert list(counts.terms) == sorted([term_hash("csv"), term_hash(stem("table"))])
    by_term = dict(zip(counts.terms.tolist(), counts.counts.tolist(), strict=True))
    assert by_term == {term_hash("csv"): 2, term_hash(stem("table")): 1}


def test_a_term_has_the_same_hash_in_every_process() -> None:
    assert term_hash("csv") == 18_184_604_283_555_995_358


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("make", "makes", "making"), "mak"),
        (("stop", "stopped", "stopping", "stops"), "stop"),
        (("city", "cities"), "city"),
        (("class", "class"), "class"),
        (("csv", "csv"), "csv"),
        (("bus", "bus"), "bus"),
        (("缺失", "缺失"), "缺失"),
        (("v1.2s", "v1.2s"), "v1.2s"),
    ],
)
def test_forms_of_one_word_meet_in_one_key(words: tuple[str, ...], key: str) -> None:
    assert {stem(word) for word in words} == {key}


def test_a_question_is_searched_by_its_telling_words_if_it_has_any() -> None:
    asked = query_term_counts("Which columns were in the table?")
    assert set(asked.terms.tolist()) == {term_hash(stem(word)) for word in ("column", "table")}
    assert query_term_counts("Who is it?").length == 3


def test_cut_bytes_of_terms_are_refused() -> None:
    with pytest.raises(ValueError, match="buffer"):
        unpack_terms(pack_terms(term_counts("one two three"))[:-1])


@pytest.mark.parametrize("text", [J, HANGUL])
def test_cjk_text_is_not_counted_as_a_quarter_of_itself(text: str) -> None:
    assert estimate_tokens(text) == len(text)


def test_english_is_estimated_at_four_characters_a_token() -> None:
    assert estimate_tokens("a" * len(J)) == 6
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1


def test_cutting_keeps_within_the_budget_and_marks_the_cut() -> None:
    assert cut_tokens("short", 2) == "short"
    assert cut_tokens("word " * 100, 10) == ("word " * 7) + "word…"
    assert cut_tokens(J, 5) == "明日の定…"
    assert cut_tokens(J, 0) == ""


def test_a_text_on_one_line_is_cut_with_a_mark() -> None:
    assert one_line(" a\n b\t c ", limit_chars=10) == "a b c"
    assert one_line("abcdef", limit_chars=4) == "abc…"


def test_the_language_is_that_of_a_third_of_the_letters() -> None:
    assert language_of("打开 quarterly_sales.csv") == "en"
    assert language_of("请帮我打开这个 csv 文件") == "zh"
    assert language_of("123") == "en"
    assert cjk_share("中a") == 0.5
