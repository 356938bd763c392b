"""The arguments of the memory tools: what is advertised, and what is refused."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from agentkit.errors import InputError
from agentkit.serve.schemas import (
    FORGET_SCHEMA,
    SEARCH_SCHEMA,
    TOOL_SPECS,
    WRITE_SCHEMA,
    check_arguments,
    tool_spec,
)


def _fields(schema: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    return cast("dict[str, dict[str, Any]]", schema["properties"])


def test_search_advertises_what_the_design_says() -> None:
    fields = _fields(SEARCH_SCHEMA)
    assert SEARCH_SCHEMA["required"] == ["query"]
    assert fields["query"]["type"] == "string"
    assert fields["memory_type"]["enum"] == ["episodic", "semantic", "procedural"]
    assert (fields["top_k"]["type"], fields["top_k"]["default"]) == ("integer", 5)
    assert (fields["top_k"]["minimum"], fields["top_k"]["maximum"]) == (1, 100)
    assert (fields["min_confidence"]["type"], fields["min_confidence"]["default"]) == (
        "number",
        0.6,
    )
    assert fields["tags"]["type"] == "array"
    assert fields["tags"]["items"] == {"type": "string"}


def test_write_and_forget_advertise_what_the_design_says() -> None:
    fields = _fields(WRITE_SCHEMA)
    assert WRITE_SCHEMA["required"] == ["content", "memory_type"]
    assert set(fields) == {"content", "memory_type", "tags", "confidence", "cues"}
    assert fields["confidence"]["default"] == 0.8
    assert FORGET_SCHEMA["required"] == ["memory_id", "reason"]
    assert set(_fields(FORGET_SCHEMA)) == {"memory_id", "reason"}


def test_no_tool_takes_a_user_and_none_takes_unknown_arguments() -> None:
    assert [spec.name for spec in TOOL_SPECS] == ["memory_search", "memory_write", "memory_forget"]
    for spec in TOOL_SPECS:
        assert spec.schema["additionalProperties"] is False
        assert not {"user", "user_id", "scope"} & set(_fields(spec.schema))


def test_defaults_are_filled_in() -> None:
    assert check_arguments(tool_spec("memory_search"), {"query": "refund"}) == {
        "query": "refund",
        "top_k": 5,
        "min_confidence": 0.6,
        "match": "all",
    }


@pytest.mark.parametrize("top_k", [0, -1, 1_000_000, 2.5, None, True])
def test_a_number_of_results_out_of_range_is_refused_by_name(top_k: object) -> None:
    with pytest.raises(InputError, match=r"memory_search: top_k: "):
        check_arguments(tool_spec("memory_search"), {"query": "x", "top_k": top_k})


@pytest.mark.parametrize(("sent", "read"), [(5.0, 5), (100, 100), ("5", "5"), ("x", "x")])
def test_whole_numbers_and_digits_are_passed_on_for_the_kit_to_judge(
    sent: object, read: object
) -> None:
    given = check_arguments(tool_spec("memory_search"), {"query": "x", "top_k": sent})
    assert (given["top_k"], type(given["top_k"])) == (read, type(read))


@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": None}, {"query": 7}])
def test_a_missing_or_empty_query_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"query|empty"):
        check_arguments(tool_spec("memory_search"), arguments)


def test_a_misspelt_argument_is_refused_naming_the_near_one() -> None:
    given: dict[str, object] = {"content": "x", "memory_type": "semantic", "confidense": 0.5}
    with pytest.raises(InputError, match=r"unknown argument 'confidense'; did you mean 'confide"):
        check_arguments(tool_spec("memory_write"), given)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"filter": {}},
        {"filter": {"unknown": "x"}},
        {"ids": []},
        {"tags": []},
        {"memory_id": "", "reason": "x"},
        {"memory_id": "m1"},
        {"memory_id": ["m1"], "reason": "x"},
    ],
)
def test_forgetting_without_one_id_and_a_reason_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match="memory_forget"):
        check_arguments(tool_spec("memory_forget"), arguments)


@pytest.mark.parametrize("tags", [["a", "b"], "a,b", '["a","b"]', "a", [], None])
def test_every_shape_of_tags_reaches_the_kit_unsplit(tags: object) -> None:
    given = check_arguments(tool_spec("memory_search"), {"query": "x", "tags": tags})
    assert given["tags"] == tags


@pytest.mark.parametrize("tags", [7, {"a": 1}, [1], [["a"]]])
def test_tags_of_another_form_are_refused(tags: object) -> None:
    with pytest.raises(InputError, match=r"memory_search: tags"):
        check_arguments(tool_spec("memory_search"), {"query": "x", "tags": tags})


def test_an_unknown_tool_is_refused_naming_those_there_are() -> None:
    with pytest.raises(InputError, match="memory_search, memory_write, memory_forget"):
        tool_spec("memory_purge")


def test_a_long_wrong_value_is_not_repeated_whole() -> None:
    with pytest.raises(InputError) as caught:
        check_arguments(tool_spec("memory_search"), {"query": ["x" * 5_000]})
    assert len(str(caught.value)) < 400
