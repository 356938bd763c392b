"""The commands, gathered. Nothing heavy is imported here: `agentkit --help` must be quick."""

from typing import Annotated

import typer

from agentkit.cli import (
    asking,
    changing,
    chatting,
    demo,
    indexing,
    inspecting,
    learning,
    measuring,
    memories,
    moving,
    serving,
    sessions,
    starting,
    working,
)

app = typer.Typer(
    name="agentkit",
    help="Agents that learn from hindsight: record a run, judge it, recall what was learnt.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from agentkit.cli.version import release

        typer.echo(f"agentkit {release()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _agentkit(  # pyright: ignore[reportUnusedFunction] - typer calls it
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show debug logs, and tracebacks of defects, on stderr.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


app.command("init")(starting.init)
app.command("demo")(demo.demo)
app.command("run")(chatting.run)
app.command("chat")(chatting.chat)
app.command("import")(learning.import_recordings)
app.command("reflect")(learning.reflect)
app.command("recall")(asking.recall)
app.command("remember")(asking.remember)
app.command("forget")(asking.forget)
app.command("purge")(changing.purge)
app.command("feedback")(asking.feedback)
app.add_typer(memories.app, name="memories")
app.command("sessions")(sessions.list_sessions)
app.command("export")(moving.export)
app.command("restore")(moving.restore)
app.command("eval")(measuring.evaluate)
app.command("mcp")(serving.mcp)
app.command("worker")(working.worker)
app.command("reindex")(indexing.reindex)
app.command("doctor")(inspecting.doctor)
app.add_typer(inspecting.tools_app, name="tools")
app.add_typer(inspecting.policy_app, name="policy")
