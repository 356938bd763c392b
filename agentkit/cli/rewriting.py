"""Setting one key of `agentkit.yaml` for its owner: everything else in it stays as it is."""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from agentkit.errors import ConfigError
from agentkit.policy.loader import load_yaml
from agentkit.settings import ENV_PREFIX, SETTINGS_FILE, Settings, load_settings

# Anything else is written in quotes, which YAML reads as JSON does.
_PLAIN = re.compile(r"[A-Za-z][\w./-]*(:[\w./-]+)*", re.ASCII)


def settle_embedder(root: Path, name: str) -> str:
    """Make the settings of a project name an embedder; return what is left to do, or "".

    Args:
        root: Folder of the project.
        name: As in the setting `embedder`.

    Returns:
        One sentence for the owner where the file was left as it is, or where the environment
        names another one.
    """
    variable = f"{ENV_PREFIX}EMBEDDER"
    if os.environ.get(variable, "").strip() not in ("", name):
        _write(root, name)
        return f"set {variable}={name} or unset it: the environment wins over {SETTINGS_FILE}"
    if load_settings(root).embedder == name or _write(root, name):
        return ""
    return f"write `embedder: {_scalar(name)}` into {root / SETTINGS_FILE}"


def with_embedder(text: str, name: str) -> str | None:
    """Return the text of a settings file with another embedder, or None where it is not plain.

    Args:
        text: The file as it stands, comments included.
        name: The embedder that it is to name.
    """
    line = re.compile(r"^(embedder[ \t]*:)[ \t]*[^#\r\n]*?([ \t]+#[^\r\n]*)?(\r?)$", re.MULTILINE)
    found = line.findall(text)
    if len(found) > 1 or (not found and "embedder" in _keys(text)):
        return None
    if found:
        return line.sub(lambda at: f"{at[1]} {_scalar(name)}{at[2] or ''}{at[3]}", text)
    ending = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else ending
    return f"{text}{gap}embedder: {_scalar(name)}{ending}"


def _keys(text: str) -> set[str]:
    return set(re.findall(r"^[\"']?(\w+)[\"']?[ \t]*:", text, re.MULTILINE))


def _scalar(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def _write(root: Path, name: str) -> bool:
    """Write the file anew if it then says what it said before, but for the embedder."""
    file = (root / SETTINGS_FILE).resolve()
    try:
        text = file.read_bytes().decode("utf-8") if file.is_file() else ""
        changed = with_embedder(text, name)
        return changed is not None and _replace(file, changed, name=name)
    except (OSError, UnicodeDecodeError):
        return False


def _replace(file: Path, text: str, *, name: str) -> bool:
    before = load_yaml(file, Settings) if file.is_file() else Settings()
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        fresh = Path(folder) / SETTINGS_FILE
        fresh.write_bytes(text.encode("utf-8"))
        try:
            after = load_yaml(fresh, Settings)
        except ConfigError:
            return False
        if after != before.model_copy(update={"embedder": name}):
            return False
        if file.is_file():
            shutil.copymode(file, fresh)
        fresh.replace(file)
    return True
