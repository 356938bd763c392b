"""The whole policy: defaults, overrides, fingerprint, cross checks."""

from pathlib import Path

import pytest

from agentkit.errors import ConfigError
from agentkit.policy.policy import Policy, load_policy

TAXONOMY = """\
facets:
  tool:
    description: What is used.
    values:
      csv: {description: Tables in text files.}
"""


class Folder:
    """Finds files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, name: str) -> Path | None:
        path = self.root / name
        return path if path.is_file() else None

    def write(self, name: str, text: str) -> None:
        (self.root / "memory").mkdir(exist_ok=True)
        (self.root / "memory" / name).write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_no_files_give_the_defaults(folder: Folder) -> None:
    assert load_policy(folder.find) == Policy()


def test_a_file_changes_what_it_names_and_the_fingerprint(folder: Folder) -> None:
    folder.write("boundaries.yaml", "quiet: {turns: 5}\n")
    policy = load_policy(folder.find)
    assert policy.boundaries.quiet.turns == 5
    assert policy.boundaries.done == Policy().boundaries.done
    assert policy.fingerprint != Policy().fingerprint
    folder.write("boundaries.yaml", "# as shipped\nquiet: {turns: 2}\n")
    assert load_policy(folder.find).fingerprint == Policy().fingerprint


def test_the_fingerprint_is_twelve_hex_digits() -> None:
    fingerprint = Policy().fingerprint
    assert len(fingerprint) == 12
    assert int(fingerprint, 16) >= 0


def test_the_shipped_files_hold_the_documented_defaults(repository: Path) -> None:
    shipped = load_policy(Folder(repository).find)
    assert shipped.boundaries == Policy().boundaries
    assert shipped.working == Policy().working


def test_the_shipped_files_name_every_key(repository: Path) -> None:
    for name, model in (("boundaries", Policy().boundaries), ("working", Policy().working)):
        text = (repository / "memory" / f"{name}.yaml").read_text(encoding="utf-8")
        for key in type(model).model_fields:
            assert f"\n{key}:" in text, key


@pytest.mark.parametrize("days", ["0", "-3", "1e9", ".inf", ".nan", "soon", "true", "[30]"])
@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("floor: 0.5\ndefault_half_life_days: DAYS\n", 2, "default_half_life_days"),
        ("types:\n  semantic: 9\n  episodic: DAYS\n", 3, "types.episodic"),
        ("tags:\n  tool:csv: DAYS\n", 2, "tags.tool:csv"),
        ("longest_half_life_days: DAYS\n", 1, "longest_half_life_days"),
    ],
)
def test_a_half_life_that_makes_no_sense_is_refused_in_one_line(
    folder: Folder, text: str, line: int, key: str, days: str
) -> None:
    folder.write("taxonomy.yaml", TAXONOMY)
    folder.write("decay.yaml", text.replace("DAYS", days))
    with pytest.raises(ConfigError) as caught:
        load_policy(folder.find)
    assert (caught.value.line, caught.value.key) == (line, key)
    assert len(str(caught.value).splitlines()) == 1
    wanted = {"0": "above 0", "-3": "above 0", "1e9": "at most 3650"}.get(days, "")
    assert wanted in caught.value.problem


def test_no_half_life_means_no_decay(folder: Folder) -> None:
    folder.write("taxonomy.yaml", TAXONOMY)
    folder.write(
        "decay.yaml",
        "default_half_life_days: null\ntypes: {semantic: null}\ntags: {tool:csv: null}\n",
    )
    decay = load_policy(folder.find).decay
    assert decay.default_half_life_days is None
    assert (decay.types, decay.tags) == ({"semantic": None}, {"tool:csv": None})


def test_a_half_life_for_an_unknown_tag_is_refused_with_the_nearest_tag(folder: Folder) -> None:
    folder.write("taxonomy.yaml", TAXONOMY)
    folder.write("decay.yaml", "floor: 0.5\ntags:\n  tool:csv: 90\n  tool:cvs: 90\n")
    with pytest.raises(ConfigError) as caught:
        load_policy(folder.find)
    assert (caught.value.line, caught.value.key) == (4, "tags.tool:cvs")
    assert "did you mean 'tool:csv'?" in caught.value.problem
    folder.write("decay.yaml", "tags: {tool:csv: 90}\n")
    assert load_policy(folder.find).decay.tags == {"tool:csv": 90.0}
