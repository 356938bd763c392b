from collections.abc import Callable
from pathlib import Path

import pytest

from agentkit.toolbox import Toolbox, load_toolbox

SALES = "order,region,amount\n1,north,420\n2,south,\n3,south,N/A\n4,west,98000\n5,west,400\n"


@pytest.fixture
def box(tmp_path: Path, repository: Path) -> Toolbox:
    return load_toolbox([repository / "tools"], root=tmp_path)


@pytest.fixture
def use(box: Toolbox) -> Callable[..., str]:
    """Call a shipped tool by its name."""
    tools = {tool.name: tool.function for tool in box.functions}

    def call(name: str, /, **arguments: object) -> str:
        return str(tools[name](**arguments))

    return call


Use = Callable[..., str]


def test_every_shipped_file_loads(box: Toolbox) -> None:
    assert box.problems == ()
    assert sorted(box.names()) == [
        "files_list_folder",
        "files_read_text",
        "notes_add",
        "notes_recent",
        "notes_search",
        "tables_fill_missing",
        "tables_profile_csv",
    ]


def put(tmp_path: Path, name: str, text: str, *, encoding: str = "utf-8") -> Path:
    file = tmp_path / name
    file.write_bytes(text.encode(encoding))
    return file


def test_a_profile_tells_types_gaps_and_ranges(tmp_path: Path, use: Use) -> None:
    put(
        tmp_path,
        "a.csv",
        "id,amount,day,who,empty\n1,1.5,2026-01-02,Ann,\n2,N/A,2026-03-04,Ann,\n3,2.5,,Bob,\n",
    )
    assert use("tables_profile_csv", path="a.csv").splitlines() == [
        "a.csv: 3 rows, 5 columns",
        "- id: whole numbers, 0 missing, 1 to 3, median 2",
        "- amount: numbers with 1 texts among them ('N/A'), 0 missing, 1.5 to 2.5, median 2",
        "- day: dates, 1 missing, 2026-01-02 to 2026-03-04",
        "- who: text, 0 missing, 2 distinct, most often 'Ann' (2)",
        "- empty: no values, 3 missing",
    ]
    marked = use("tables_profile_csv", path="a.csv", missing_marks=["n/a"])
    assert "- amount: numbers, 1 missing, 1.5 to 2.5, median 2" in marked


def test_quotes_marks_and_chinese_headers_are_understood(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "表.csv", '\ufeff名称,数量\n"甲, 乙",3\n"丙\n丁",\n')
    assert "- 数量: whole numbers, 1 missing, 3 to 3, median 3" in use(
        "tables_profile_csv", path="表.csv"
    )
    use("tables_fill_missing", path="表.csv", column="数量", method="constant", value="0")
    filled = (tmp_path / "表.filled.csv").read_bytes()
    assert filled.decode("utf-8") == '\ufeff名称,数量\n"甲, 乙",3\n"丙\n丁",0\n'


def test_a_table_in_another_encoding_says_which_to_try(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "客户.csv", "名称,城市\n甲,上海\n", encoding="gbk")
    with pytest.raises(ValueError, match=r"is not utf-8: .*try encoding=gbk"):
        use("tables_profile_csv", path="客户.csv")
    assert "1 rows" in use("tables_profile_csv", path="客户.csv", encoding="gbk")


@pytest.mark.parametrize(
    ("method", "filling"),
    [("mean", "32940"), ("median", "420"), ("mode", "420")],
)
def test_gaps_are_filled_by_the_method_that_was_asked_for(
    tmp_path: Path, use: Use, method: str, filling: str
) -> None:
    put(tmp_path, "s.csv", SALES)
    said = use(
        "tables_fill_missing", path="s.csv", column="amount", method=method, missing_marks=["N/A"]
    )
    assert said == f"filled 2 cells of amount with {filling} ({method}); wrote s.filled.csv"
    rows = (tmp_path / "s.filled.csv").read_text("utf-8").splitlines()
    assert rows[2:4] == [f"2,south,{filling}", f"3,south,{filling}"]
    assert (tmp_path / "s.csv").read_text("utf-8") == SALES


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"column": "amount", "method": "median"}, "holds the text 'N/A' in row 3; median needs"),
        ({"column": "region", "method": "mean"}, "holds the text 'north' in row 1; mean needs"),
        ({"column": "price", "method": "mode"}, "no column 'price'; the header has order, region"),
        ({"column": "amount", "method": "constant"}, "constant needs a value"),
        ({"column": "amount", "method": "mode", "output": "s.csv"}, "is already there"),
        ({"column": "amount", "method": "mode", "output": "../x.csv"}, "outside of the folder"),
        ({"column": "amount", "method": "mode", "encoding": "klingon"}, "no encoding 'klingon'"),
        ({"column": "amount", "method": "mode", "delimiter": ""}, "must be one character"),
    ],
)
def test_what_cannot_be_filled_is_refused_with_what_to_do(
    tmp_path: Path, use: Use, arguments: dict[str, object], problem: str
) -> None:
    put(tmp_path, "s.csv", SALES)
    with pytest.raises(ValueError, match=problem):
        use("tables_fill_missing", path="s.csv", **arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["s.csv"]
    assert (tmp_path / "s.csv").read_text("utf-8") == SALES


def test_an_existing_output_is_replaced_only_when_asked(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "s.csv", SALES)
    put(tmp_path, "out.csv", "precious")
    arguments: dict[str, object] = {
        "path": "s.csv",
        "column": "amount",
        "method": "mode",
        "output": "out.csv",
    }
    with pytest.raises(ValueError, match="already there"):
        use("tables_fill_missing", **arguments)
    assert (tmp_path / "out.csv").read_text("utf-8") == "precious"
    use("tables_fill_missing", **arguments, overwrite=True)
    assert (tmp_path / "out.csv").read_text("utf-8").startswith("order,")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "is empty"), ('a,b\n"x,1\n', "is no CSV table"), ("a,a\n1,\n", "has 'a' 2 times")],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, use: Use, text: str, problem: str
) -> None:
    put(tmp_path, "t.csv", text)
    with pytest.raises(ValueError, match=problem):
        use("tables_fill_missing", path="t.csv", column="a", method="mode")


def test_rows_of_another_width_are_counted_and_never_rewritten(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "t.csv", "a,b\n1,2\n3\n4,\n")
    assert "1 rows have another number of cells, first in row 2" in use(
        "tables_profile_csv", path="t.csv"
    )
    with pytest.raises(ValueError, match="row 2 has another number of cells"):
        use("tables_fill_missing", path="t.csv", column="b", method="mode")


def test_words_that_python_takes_for_numbers_are_text(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "t.csv", "a\nnan\n1\ninf\n2\n1_000\n3\n")
    assert "numbers with 3 texts among them" in use("tables_profile_csv", path="t.csv")


def test_a_column_without_values_needs_a_constant(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "t.csv", "a,b\n1,\n2,\n")
    with pytest.raises(ValueError, match="no value to learn from"):
        use("tables_fill_missing", path="t.csv", column="b", method="median")


def test_a_long_file_is_read_in_parts(tmp_path: Path, use: Use) -> None:
    put(tmp_path, "long.txt", "好" * 25)
    first = use("files_read_text", path="long.txt", limit_chars=20)
    assert first == "好" * 20 + "\n[cut; go on with offset_chars=20]"
    assert use("files_read_text", path="long.txt", offset_chars=20) == "好" * 5


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"path": "none.txt"}, "there is no file 'none.txt'"),
        ({"path": "."}, "is a folder"),
        ({"path": "../x"}, "outside of the folder"),
        ({"path": "link.txt"}, "outside of the folder"),
        ({"path": "gbk.txt"}, "try encoding=gbk"),
        ({"path": "gbk.txt", "encoding": "klingon"}, "no encoding"),
        ({"path": "gbk.txt", "limit_chars": 0}, "limit_chars 1 to 20000"),
        ({"path": "gbk.txt", "offset_chars": -1}, "offset_chars must be 0 or more"),
    ],
)
def test_a_file_that_may_not_or_cannot_be_read_is_refused(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    use: Use,
    arguments: dict[str, object],
    problem: str,
) -> None:
    secret = put(tmp_path_factory.mktemp("elsewhere"), "secret.txt", "secret")
    (tmp_path / "link.txt").symlink_to(secret)
    put(tmp_path, "gbk.txt", "编码", encoding="gbk")
    with pytest.raises(ValueError, match=problem):
        use("files_read_text", **arguments)


def test_a_folder_is_listed_by_name_with_sizes(tmp_path: Path, use: Use) -> None:
    (tmp_path / "sub").mkdir()
    put(tmp_path, "b.csv", "12")
    put(tmp_path, "a.txt", "1")
    put(tmp_path, ".hidden", "1")
    (tmp_path / "link").symlink_to("/")
    assert use("files_list_folder").splitlines() == [
        "a.txt (1 bytes)",
        "b.csv (2 bytes)",
        "link (link)",
        "sub/",
    ]
    assert use("files_list_folder", pattern="*.csv") == "b.csv (2 bytes)"
    assert use("files_list_folder", limit=1).endswith("... and 3 more")
    assert use("files_list_folder", folder="sub") == "nothing found"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"folder": ".."}, "outside"),
        ({"folder": "none"}, "no folder"),
        ({"pattern": "../*"}, "names in one folder"),
        ({"pattern": "**"}, "names in one folder"),
        ({"limit": 0}, "limit must be 1 to 500"),
    ],
)
def test_a_listing_stays_in_its_folder(
    use: Use, arguments: dict[str, object], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        use("files_list_folder", **arguments)


def test_notes_are_numbered_found_and_kept_in_markdown(tmp_path: Path, use: Use) -> None:
    assert use("notes_recent") == "no notes found"
    assert use("notes_add", text="Paper contract\nends in March") == "note 1 added"
    assert use("notes_add", text="报表用中文写") == "note 2 added"
    assert (tmp_path / "notes.md").read_text("utf-8") == (
        "# Notes\n\n1. Paper contract ends in March\n2. 报表用中文写\n"
    )
    assert use("notes_recent", limit=1) == "2. 报表用中文写\n... and 1 more"
    assert use("notes_search", words="march PAPER") == "1. Paper contract ends in March"
    assert use("notes_search", words="中文") == "2. 报表用中文写"
    assert use("notes_search", words="april") == "no notes found"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("notes_add", {"text": " \n"}, "blank"),
        ("notes_add", {"text": "x" * 2001}, "2001 characters"),
        ("notes_search", {"words": " "}, "nothing to search for"),
        ("notes_recent", {"limit": 0}, "limit must be 1 to 50"),
    ],
)
def test_a_note_that_says_nothing_is_refused(
    use: Use, name: str, arguments: dict[str, object], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        use(name, **arguments)
