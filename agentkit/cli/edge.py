"""The edge of the command line: what becomes of errors, exit codes and streams, in one place.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | it could not be done: the message says why |
| 2 | the call was wrong: unknown option, argument out of range, no such id |
| 70 | a defect of agentkit: the message says where the traceback is |
| 130 | interrupted from the keyboard |
| 141 | whoever read our output stopped reading |
"""

import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from io import TextIOWrapper

import typer

from agentkit.errors import AgentkitError, InputError

logger = logging.getLogger("agentkit")

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_DEFECT = 70  # EX_SOFTWARE of sysexits.h
EXIT_CLOSED_PIPE = 141  # 128 + SIGPIPE, as a shell reports it

Report = Callable[[str, str], None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code.

    Args:
        arguments: Words after the program name, or None for those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _speak_utf8()
    code = run(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _drop_output()
    sys.exit(code)


def run(words: Sequence[str]) -> int:
    """Run one command and return its exit code; errors are told, none leaves.

    Args:
        words: Words after the program name.
    """
    as_json = wants_json(words)
    try:
        return _invoke(words)
    except typer.TyperException as error:
        _tell(_usage_line(error), kind="UsageError", as_json=as_json)
        return error.exit_code
    except AgentkitError as error:
        _tell(str(error), kind=type(error).__name__, as_json=as_json)
        return EXIT_USAGE if isinstance(error, InputError) else EXIT_FAILED
    except BrokenPipeError:
        return _drop_output()
    except Exception as error:  # noqa: BLE001 - the edge: a defect becomes one line and a log
        _tell(_log_defect(error, words), kind="InternalError", as_json=as_json)
        return EXIT_DEFECT


def wants_json(words: Sequence[str]) -> bool:
    """Whether `--json` is among the options; text after a bare `--` is no option."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _invoke(words: Sequence[str]) -> int:
    """Let typer parse and call; interruptions come back as an exit code."""
    from agentkit.cli.app import app

    if "--debug" in words:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    try:
        result: object = app(args=list(words), prog_name="agentkit", standalone_mode=False)
    except SystemExit as leaving:
        # Where nobody reads any more, typer leaves as if the command had failed.
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    return result if isinstance(result, int) else 0


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says, so that Chinese never breaks a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _tell(message: str, *, kind: str, as_json: bool) -> None:
    """Report an error: one line on stderr, or one JSON document on stdout."""
    if as_json:
        document = {"error": {"kind": kind, "message": message}}
        print(json.dumps(document, ensure_ascii=False))
        return
    print(f"error: {message}", file=sys.stderr)


def _usage_line(error: typer.TyperException) -> str:
    """Return what was wrong with the call, and where to read about it."""
    command: object = getattr(getattr(error, "ctx", None), "command_path", None)
    message = error.format_message()
    return message if command is None else f"{message} (see {command} --help)"


def _log_defect(error: Exception, words: Sequence[str]) -> str:
    """Keep the traceback where a person can find it; return the line that says where."""
    what = f"agentkit failed in an unforeseen way: {type(error).__name__}: {error}"
    if "--debug" in words:
        logger.error("unforeseen", exc_info=error)
        return what
    with tempfile.NamedTemporaryFile(
        "w", prefix="agentkit-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        traceback.print_exception(error, file=log)
    return f"{what}; the traceback is in {log.name} (agentkit --debug ... shows it here)"


def _drop_output() -> int:
    """Send what is still buffered nowhere: the reader of our output is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return EXIT_CLOSED_PIPE
