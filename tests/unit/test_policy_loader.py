"""YAML files: what is taken, and the one line that says what is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import pytest
from pydantic import Field, model_validator

from agentkit.errors import ConfigError
from agentkit.policy.loader import line_of, load_yaml
from agentkit.policy.model import PolicyModel


class Kind(PolicyModel):
    half_life_days: float | None = Field(default=180.0, ge=1)
    words: tuple[str, ...] = ()


class Sample(PolicyModel):
    half_life_days: float = Field(default=180.0, ge=1, le=1000)
    floor: float = 0.45
    name: str = "x"
    turns: int = 3
    enabled: bool = False
    mode: Literal["used", "recalled"] = "used"
    kinds: Mapping[Literal["episodic", "semantic"], float | None] = {}
    by_name: Mapping[str, Kind] = {}
    several: tuple[Kind, ...] = ()
    taxonomy: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _not_forbidden(self) -> Self:
        if self.name == "forbidden":
            raise ValueError("this name is not allowed; choose another")
        return self


class Needy(PolicyModel):
    first: str
    second: str


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sample.yaml"


def load(file: Path, text: str) -> Sample:
    file.write_text(text, encoding="utf-8")
    return load_yaml(file, Sample)


def refusal(file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(file, text)
    assert caught.value.file == file
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("text", ["", "# only a comment\n", "\n\n", "---\n"])
def test_an_empty_file_gives_the_defaults(file: Path, text: str) -> None:
    assert load(file, text) == Sample()


def test_values_of_every_form_are_read(file: Path) -> None:
    found = load(
        file,
        "half_life_days: 5\nfloor: 1e-1\nname: 'no'\nturns: 4\nenabled: true\nmode: recalled\n"
        "kinds: {semantic: null, episodic: 2}\nby_name:\n  '1.10':\n    words: [a, \"08\", 中文]\n",
    )
    assert found == Sample(
        half_life_days=5.0,
        floor=0.1,
        name="no",
        turns=4,
        enabled=True,
        mode="recalled",
        kinds={"semantic": None, "episodic": 2.0},
        by_name={"1.10": Kind(words=("a", "08", "中文"))},
    )


def test_a_misspelt_key_is_refused_with_the_nearest_name(file: Path) -> None:
    error = refusal(file, "floor: 0.5\nhalf_lfie_days: 7\n")
    assert (error.line, error.key) == (2, "half_lfie_days")
    assert "did you mean 'half_life_days'?" in error.problem


def test_a_misspelt_key_is_found_deep_inside(file: Path) -> None:
    error = refusal(file, "by_name:\n  a:\n    half_life_days: 3\n    wrods: []\n")
    assert (error.line, error.key) == (4, "by_name.a.wrods")
    assert "did you mean 'words'?" in error.problem
    error = refusal(file, "several:\n- words: []\n- half_life: 3\n")
    assert (error.line, error.key) == (3, "several[1].half_life")
    assert "did you mean 'half_life_days'?" in error.problem


def test_a_misspelt_choice_or_choice_key_is_refused_with_the_nearest_one(file: Path) -> None:
    error = refusal(file, "kinds: {semntic: 180}\n")
    assert "did you mean 'semantic'?" in error.problem
    assert "did you mean 'used'?" in refusal(file, "mode: usde\n").problem
    assert "did you mean 'taxonomy'?" in refusal(file, "tags_taxonomy: []\n").problem


@pytest.mark.parametrize(
    "word",
    ["no", "on", "Yes", "OFF", "1.10", "08", "2026-11-30", "~", "12:30", "true", "null", "0x1F"],
)
def test_words_that_yaml_misreads_are_refused_where_text_is_wanted(file: Path, word: str) -> None:
    error = refusal(file, f"taxonomy:\n- fine\n- {word}\n")
    assert (error.line, error.key) == (3, "taxonomy[1]")
    assert f'quote this: "{word}"' in error.problem
    assert load(file, f'taxonomy: [fine, "{word}"]').taxonomy == ("fine", word)


@pytest.mark.parametrize("word", ["no", "1.10", "08", "2026-11-30", "~", "12:30"])
def test_keys_that_yaml_misreads_are_refused(file: Path, word: str) -> None:
    assert "quote this" in refusal(file, f"by_name:\n  {word}: {{}}\n").problem


def test_the_same_key_twice_is_refused(file: Path) -> None:
    error = refusal(file, "floor: 0.1\nname: a\nfloor: 0.2\n")
    assert (error.line, error.key) == (3, "floor")
    assert "first in line 1" in error.problem


def test_composed_and_decomposed_accents_are_one_key_and_one_text(file: Path) -> None:
    assert load(file, "name: cafe\u0301").name == "caf\u00e9"
    assert "twice" in refusal(file, "by_name: {cafe\u0301: {}, caf\u00e9: {}}").problem


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("floor: 1\nby_name:\n\ta: {}\n", 3, "a tab is used to indent"),
        ("name: [a\n", 2, "not valid YAML"),
        ("- a\n- b\n", 1, "`key: value` lines"),
        ("just words\n", 1, "`key: value` lines"),
        ("name: a\n---\nname: b\n", 2, "another document"),
        ("name: &a x\nmode: *a\n", 2, "alias"),
        ("name: !!python/name:os.system x\n", 1, "is not known"),
        ("floor: 1\nname: a\x07\n", 2, "control character"),
        ("name: ${HOME}/x\n", 1, "${HOME} is not filled in"),
        ("name: '${UNSET_VAR}'\n", 1, "AGENTKIT_"),
        ("floor: 1e999\n", 1, "too large"),
        ("floor: .nan\n", 1, "no finite number"),
        ("? [a]\n: b\n", 1, "a key must be a word"),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(
    file: Path, text: str, line: int, said: str
) -> None:
    error = refusal(file, text)
    assert error.line == line
    assert said in error.problem


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("turns: 2.5", "turns", "wants a whole number, not 2.5"),
        ("turns: many", "turns", "wants a whole number, not 'many'"),
        ("floor: low", "floor", "wants a number, not 'low'"),
        ("enabled: 1", "enabled", "wants true or false, not 1"),
        ("enabled: 'true'", "enabled", "wants true or false"),
        ("half_life_days: 0.5", "half_life_days", "must be at least 1"),
        ("half_life_days: 5000", "half_life_days", "must be at most 1000"),
        ("by_name: {a: 3}", "by_name.a", "wants `key: value` lines"),
        ("taxonomy: one", "taxonomy", "wants a list, not 'one'"),
        ("kinds: {semantic: long}", "kinds.semantic", "wants a number, not 'long'"),
        ("name: forbidden", None, "this name is not allowed; choose another"),
        ("name:", "name", "an empty place is read as nothing"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_wanted(
    file: Path, text: str, key: str | None, said: str
) -> None:
    error = refusal(file, text)
    assert error.key == key
    assert said in error.problem


def test_of_several_problems_the_first_is_shown_and_the_others_are_counted(file: Path) -> None:
    error = refusal(file, "floor: 1\nturns: x\nnmae: y\nhalf_life_days: 0\n")
    assert error.line == 2
    assert error.problem.endswith("(2 more problems)")


def test_missing_keys_are_named(file: Path) -> None:
    file.write_text("first: a\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_yaml(file, Needy)
    assert caught.value.key == "second"
    assert "missing" in caught.value.problem


def test_a_misspelt_key_is_not_called_missing(file: Path) -> None:
    file.write_text("first: a\nsecnod: b\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_yaml(file, Needy)
    assert caught.value.line == 2
    assert caught.value.problem == "unknown key 'secnod'; did you mean 'second'?"


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, file: Path) -> None:
    file.write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_yaml(file, Sample)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_yaml(tmp_path, Sample)
    assert "nested too deep" in refusal(file, "name: " + "[" * 5000).problem


def test_a_byte_order_mark_does_no_harm(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert load_yaml(file, Sample).name == "a"


def test_the_line_of_a_key_can_be_asked_for(file: Path) -> None:
    file.write_text("floor: 1\nby_name:\n  a:\n    words:\n    - x\n    - y\n", encoding="utf-8")
    assert line_of(file, "by_name", "a", "words", 1) == 6
    assert line_of(file, "by_name", "b") is None
