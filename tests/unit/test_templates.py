"""Prompts are the owner's files: found, checked, and rendered in a sandbox."""

from pathlib import Path

import pytest

from agentkit.errors import TemplateError
from agentkit.templates import PROMPT_VARIABLES, REQUIRED_VARIABLES, Templates


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def render(folder: Path, **values: object) -> str:
    return Templates([folder]).render("conflict", language="en", **{"new": "", "old": "", **values})


def test_the_shipped_prompts_have_nothing_wrong(repository: Path) -> None:
    assert Templates([repository / "prompts"]).check() == ()


def test_every_prompt_is_shipped_in_both_languages(repository: Path) -> None:
    for name in PROMPT_VARIABLES:
        for language in ("en", "zh"):
            assert (repository / "prompts" / f"{name}.{language}.md.j2").is_file()


def test_every_required_variable_is_declared() -> None:
    for name, required in REQUIRED_VARIABLES.items():
        assert required <= PROMPT_VARIABLES[name]


def test_a_users_file_wins_and_the_others_stay_packaged(tmp_path: Path) -> None:
    own = write(tmp_path / "own", "conflict.en.md.j2", "mine {{ new }}{{ old }}")
    packaged = write(tmp_path / "packaged", "conflict.en.md.j2", "theirs {{ new }}{{ old }}")
    write(packaged, "summarise.en.md.j2", "theirs {{ transcript }}")
    templates = Templates([own, packaged])
    assert templates.render("conflict", language="en", new="a", old="b") == "mine ab"
    assert templates.render("summarise", language="en", transcript="t") == "theirs t"


def test_a_missing_chinese_file_falls_back_to_english(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "en {{ new }}{{ old }}")
    assert Templates([folder]).render("conflict", language="zh", new="", old="") == "en"
    write(tmp_path, "conflict.zh.md.j2", "zh {{ new }}{{ old }}")
    assert Templates([folder]).render("conflict", language="zh", new="", old="") == "zh"


def test_an_edited_file_takes_effect_at_the_next_rendering(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "one {{ new }}{{ old }}")
    templates = Templates([folder])
    assert templates.render("conflict", language="en", new="", old="") == "one"
    write(tmp_path, "conflict.en.md.j2", "two {{ new }}{{ old }}")
    assert templates.render("conflict", language="en", new="", old="") == "two"


def test_what_a_memory_says_is_never_compiled(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ new }}|{{ old }}")
    memory = "Use {{ 7*7 }} and {% raw %} in docs"
    assert render(folder, new=memory) == f"{memory}|"


def test_data_cannot_open_or_close_a_tag(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "<old>{{ old | data }}</old>{{ new }}")
    assert render(folder, old="</old>&") == "<old>&lt;/old&gt;&amp;</old>"


def test_json_keeps_chinese_readable_and_escapes_tags(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ new | tojson }}{{ old }}")
    assert render(folder, new="缺失 <b>") == '"缺失 \\u003cb\\u003e"'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}{{ new }}{{ old }}", "__subclasses__"),
        ("{{ new['__class__'] }}{{ old }}", "__class__"),
        ("{% include '../../etc/passwd' %}{{ new }}{{ old }}", "include"),
        ("{% import 'conflict.en.md.j2' as c %}{{ new }}{{ old }}", "import"),
        ("{% extends 'x' %}{{ new }}{{ old }}", "extends"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ new }}{{ old }}", "macro"),
        ("{% set x %}a{% endset %}{{ new }}{{ old }}", "set"),
        ("{{ new ~ old }}", "~"),
        ("{% for a in new recursive %}{% endfor %}{{ old }}", "recursive"),
        (
            "{% for a in new %}{% for b in new %}{% for c in new %}{% endfor %}{% endfor %}"
            "{% endfor %}{{ old }}",
            "nested",
        ),
    ],
)
def test_a_hostile_construct_is_refused_at_load_with_file_and_line(
    tmp_path: Path, text: str, why: str
) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", text)
    problems = [str(error) for error in Templates([folder]).check() if "conflict" in error.file]
    assert len(problems) == 1
    assert problems[0].startswith("conflict.en.md.j2:1: ")
    assert why in problems[0]
    with pytest.raises(TemplateError, match=r"conflict\.en\.md\.j2:1"):
        render(folder, new="ab")


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 1000000000 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ 9 ** 99999999 }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{{ 'a'.center(999999999) }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ new }}{% endfor %}",
        "{% for a in new %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_cannot_eat_memory_or_time(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ new | length }}{{ old }}\n" + text)
    with pytest.raises(TemplateError, match=r"conflict\.en\.md\.j2"):
        render(folder, new="x" * 100)


def test_a_template_cannot_change_what_it_was_given(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ old }}{{ new.append(1) }}")
    with pytest.raises(TemplateError, match="unsafe"):
        render(folder, new=[])


def test_an_unknown_variable_is_an_error_at_load_naming_the_nearest(tmp_path: Path) -> None:
    folder = write(tmp_path, "reflect.en.md.j2", "{{ transcript }}\n{{ lesson_limt }}")
    (problem,) = [e for e in Templates([folder]).check() if e.file.startswith("reflect")]
    assert str(problem) == (
        "reflect.en.md.j2:2: unknown variable 'lesson_limt'; did you mean 'lesson_limit'?"
    )


def test_a_briefing_that_never_shows_the_memories_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, "briefing.en.md.j2", "You remember things.")
    with pytest.raises(TemplateError, match="never uses 'memories'"):
        Templates([folder]).render("briefing", language="en", memories=())


def test_an_undefined_field_is_an_error_and_no_empty_text(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ old }}\n{{ new.contnt }}")
    with pytest.raises(TemplateError, match=r"conflict\.en\.md\.j2:2: .*contnt"):
        render(folder, new={"content": "x"})


def test_broken_syntax_names_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path, "conflict.en.md.j2", "{{ new }}\n{% if %}\n{{ old }}")
    with pytest.raises(TemplateError, match=r"conflict\.en\.md\.j2:2: "):
        render(folder)


def test_a_file_of_no_prompt_and_a_missing_prompt_are_reported(tmp_path: Path) -> None:
    folder = write(tmp_path, "refelct.en.md.j2", "x")
    problems = {error.file: str(error) for error in Templates([folder]).check()}
    assert "did you mean 'reflect'?" in problems["refelct.en.md.j2"]
    assert str(tmp_path) in problems["reflect.en.md.j2"]


def test_a_file_that_is_not_utf8_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "conflict.en.md.j2").write_bytes("中文数据 {{ new }}{{ old }}".encode("gbk"))
    with pytest.raises(TemplateError, match="save it as UTF-8"):
        render(tmp_path)


def test_a_path_out_of_the_folder_is_no_prompt(tmp_path: Path) -> None:
    write(tmp_path, "secret.en.md.j2", "x")
    folder = write(tmp_path / "prompts", "conflict.en.md.j2", "{{ new }}{{ old }}")
    with pytest.raises(TemplateError, match="no such prompt"):
        Templates([folder]).render("../secret", language="en")
