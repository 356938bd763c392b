"""Read and list files inside of the folder for tools."""

from pathlib import Path

from agentkit.toolbox import inside

MAX_READ_CHARS = 20_000
MAX_LISTED = 500


def read_text(
    path: str,
    *,
    offset_chars: int = 0,
    limit_chars: int = 4_000,
    encoding: str = "utf-8",
    root: Path,
) -> str:
    """Read a part of a text file; says how to go on where it was cut.

    Args:
        path: The file, relative to the folder for tools.
        offset_chars: Characters to pass over, 0 for the beginning.
        limit_chars: Most characters to return, 1 to 20000.
        encoding: Encoding of the file, such as utf-8 or gbk.
        root: Folder that may be read; filled in.

    Raises:
        ValueError: If there is no such text file inside of the root, or a number is out of range.
    """
    if offset_chars < 0 or not 1 <= limit_chars <= MAX_READ_CHARS:
        raise ValueError(f"offset_chars must be 0 or more, limit_chars 1 to {MAX_READ_CHARS}")
    place = inside(path, root=root)
    if place.is_dir():
        raise ValueError(f"{path!r} is a folder; list it instead")
    if not place.is_file():
        raise ValueError(f"there is no file {path!r}; list the folder to see what there is")
    name = "utf-8-sig" if encoding.casefold() in ("utf-8", "utf8") else encoding
    try:
        with place.open(encoding=name) as stream:
            stream.read(offset_chars)
            text = stream.read(limit_chars)
            cut = bool(stream.read(1))
    except LookupError as error:
        raise ValueError(f"there is no encoding {encoding!r}; utf-8 and gbk are common") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path!r} is not {encoding}: some bytes cannot be read; "
            f"try encoding={'utf-8' if encoding.casefold() in ('gbk', 'gb18030') else 'gbk'}"
        ) from error
    return f"{text}\n[cut; go on with offset_chars={offset_chars + limit_chars}]" if cut else text


def list_folder(folder: str = ".", *, pattern: str = "*", limit: int = 100, root: Path) -> str:
    """List the files and folders of a folder, sorted by name, with their sizes.

    Args:
        folder: The folder, relative to the folder for tools.
        pattern: Which names, such as *.csv.
        limit: Most entries to return, 1 to 500.
        root: Folder that may be read; filled in.

    Raises:
        ValueError: If there is no such folder inside of the root, or limit is out of range.
    """
    if not 1 <= limit <= MAX_LISTED:
        raise ValueError(f"limit must be 1 to {MAX_LISTED}")
    if "/" in pattern or "\\" in pattern or "**" in pattern:
        raise ValueError("the pattern is for names in one folder, such as *.csv")
    place = inside(folder, root=root)
    if not place.is_dir():
        raise ValueError(f"there is no folder {folder!r}")
    entries = sorted(entry for entry in place.glob(pattern) if not entry.name.startswith("."))
    lines = [_line(entry) for entry in entries[:limit]]
    if len(entries) > limit:
        lines.append(f"... and {len(entries) - limit} more")
    return "\n".join(lines) or "nothing found"


def _line(entry: Path) -> str:
    if entry.is_symlink():
        return f"{entry.name} (link)"
    return f"{entry.name}/" if entry.is_dir() else f"{entry.name} ({entry.stat().st_size} bytes)"
