"""`agentkit doctor`, `tools list`, `policy show` and `policy check`: is everything in order?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.groups import command_group
from agentkit.cli.options import JsonOption, ProjectOption, project_root

if TYPE_CHECKING:
    from agentkit.cli.checks import Finding

tools_app = command_group("The tools that agents get.")
policy_app = command_group("The rules in memory/*.yaml.")


def doctor(
    project: ProjectOption = None,
    consistency: Annotated[
        bool,
        typer.Option(
            "--consistency", help="Compare every key and trajectory of database, index and folder."
        ),
    ] = False,
    mend: Annotated[
        bool, typer.Option("--mend", help="Compare, mend what can be mended, compare again.")
    ] = False,
    overlap: Annotated[
        str | None,
        typer.Option(
            "--overlap",
            metavar="USER",
            help="Measure on a user's logged queries how much of the exact scan the approximate "
            "plan finds.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find what is wrong, and say what to do.

    Exit code 1 means that something is wrong, and with --mend that something still is.
    """
    import asyncio

    from agentkit.cli.output import print_json

    if overlap is not None:
        from agentkit.cli.comparing import compare_plans

        compare_plans(project_root(project), overlap, as_json=as_json)
        return
    if consistency or mend:
        _prove(project_root(project), mend=mend, as_json=as_json)
        return
    findings = asyncio.run(_findings(project_root(project)))
    ok = all(finding.ok for finding in findings)
    if as_json:
        rows = [
            {"name": item.name, "ok": item.ok, "detail": item.detail, "fix": item.fix}
            for item in findings
        ]
        print_json({"ok": ok, "checks": rows})
    else:
        _show_findings(findings)
    if not ok:
        raise typer.Exit(1)


@tools_app.command("list")
def list_tools(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """List the tools in tools/*.py.

    Exit code 1 means that a file could not be loaded; the message says why.
    """
    from agentkit.cli.output import print_json, print_table
    from agentkit.project import Project
    from agentkit.toolbox import load_toolbox

    root = project_root(project)
    toolbox = load_toolbox(Project(root).content("tools"), root=root)
    if as_json:
        tools = [
            {"name": tool.name, "description": tool.description, "file": str(tool.file)}
            for tool in toolbox.functions
        ]
        print_json({"tools": tools, "problems": [str(problem) for problem in toolbox.problems]})
    else:
        rows = [[tool.name, tool.description, str(tool.file)] for tool in toolbox.functions]
        print_table(["tool", "what it does", "file"], rows)
        for problem in toolbox.problems:
            typer.echo(f"error: {problem}", err=True)
    if toolbox.problems:
        raise typer.Exit(1)


@policy_app.command("show")
def show_policy(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show every value in force."""
    from agentkit.cli.output import print_json
    from agentkit.policy.policy import load_policy, policy_yaml
    from agentkit.project import Project

    policy = load_policy(Project(project_root(project)).find)
    if as_json:
        print_json({"fingerprint": policy.fingerprint, **policy.to_json()})
        return
    typer.echo(f"# fingerprint {policy.fingerprint}")
    typer.echo(policy_yaml(policy))


@policy_app.command("check")
def check_policy(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Say what is wrong in memory/*.yaml.

    The first problem is named with file, line and key.
    """
    from agentkit.cli.output import print_json
    from agentkit.policy.policy import load_policy, stray_files
    from agentkit.project import Project

    content = Project(project_root(project))
    policy = load_policy(content.find)
    for stray in (error for folder in content.content("memory") for error in stray_files(folder)):
        raise stray
    if as_json:
        print_json({"ok": True, "fingerprint": policy.fingerprint})
    else:
        typer.echo(f"the policy is in order; fingerprint {policy.fingerprint}")


def _prove(root: Path, *, mend: bool, as_json: bool) -> None:
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.cli.proving import consistency_json, prove, show_consistency

    found = asyncio.run(prove(root, mend=mend, shown=not as_json))
    if as_json:
        print_json(consistency_json(found))
    else:
        show_consistency(found)
    if not found.ok:
        raise typer.Exit(1)


async def _findings(root: Path) -> "list[Finding]":
    from agentkit.cli.checks import Finding, content_findings
    from agentkit.errors import AgentkitError
    from agentkit.kit import Kit
    from agentkit.project import Project

    found = list(content_findings(Project(root), root=root))
    if not all(item.ok for item in found if item.name in ("settings", "policy")):
        return found
    try:
        async with Kit.open(root, worker="external") as kit:
            checks = await kit.doctor()
    except AgentkitError as error:
        return [*found, Finding(name="store", ok=False, detail=str(error))]
    found.extend(
        Finding(name=item.name, ok=item.ok, detail=item.detail, fix=item.fix) for item in checks
    )
    return found


def _show_findings(findings: "list[Finding]") -> None:
    from agentkit.cli.output import print_table

    rows = [[item.name, "ok" if item.ok else "WRONG", item.detail, item.fix] for item in findings]
    print_table(["check", "", "found", "what to do"], rows)
    for item in findings:
        if not item.ok:
            typer.echo(f"error: {item.name}: {item.detail}", err=True)
