"""One report out of the reports of several stores: pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agentkit.store.consistency import Consistency, Findings
from agentkit.store.transfer.reports import RestoreReport
from agentkit.store.values import Check, FillReport, KeptVectors, SettleReport, SwitchReport


def merge_checks(found: Sequence[tuple[Check, ...]]) -> tuple[Check, ...]:
    """Return one line for each thing looked at: of those that are wrong, the first.

    Args:
        found: What each store says, in the same order of names.
    """
    if len(found) == 1:
        return found[0]
    by_name: dict[str, list[Check]] = {}
    for check in (check for checks in found for check in checks):
        by_name.setdefault(check.name, []).append(check)
    merged = [Check(name="isolation", ok=True, detail=f"physical: {len(found)} users' stores")]
    for checks in by_name.values():
        wrong = [check for check in checks if not check.ok]
        first = wrong[0] if wrong else checks[0]
        differ = len({check.detail for check in checks}) > 1
        count = f"{len(wrong)} of {len(checks)} stores: " if wrong else ""
        others = " (first of several)" if differ and not wrong else ""
        merged.append(replace(first, detail=f"{count}{first.detail}{others}"))
    return tuple(merged)


def merge_settled(reports: Sequence[SettleReport]) -> SettleReport:
    """Return the sums, and the first problem.

    Args:
        reports: What each store did.
    """
    return SettleReport(
        embedded=sum(report.embedded for report in reports),
        indexed=sum(report.indexed for report in reports),
        waiting=sum(report.waiting for report in reports),
        problem=next((report.problem for report in reports if report.problem), ""),
    )


def merge_consistency(found: Sequence[Consistency]) -> Consistency:
    """Return what was looked at in all stores, and everything that was found.

    Args:
        found: The proof of each store.
    """
    findings = Findings()
    for one in (one for proof in found for one in proof.disagreements):
        findings.add(one.kind, one.subjects)
    indexed = [proof.indexed for proof in found if proof.indexed is not None]
    return Consistency(
        keys=sum(proof.keys for proof in found),
        indexed=sum(indexed) if len(indexed) == len(found) else None,
        blobs=sum(proof.blobs for proof in found),
        disagreements=findings.disagreements(),
    )


def merge_kept(kept: Sequence[tuple[KeptVectors, ...]]) -> tuple[KeptVectors, ...]:
    """Return how many vectors of each embedder there are, by fingerprint.

    Args:
        kept: What each store holds.
    """
    merged: dict[str, KeptVectors] = {}
    for one in (one for held in kept for one in held):
        known = merged.get(one.fingerprint)
        merged[one.fingerprint] = one if known is None else _sum_of(known, one)
    return tuple(merged[name] for name in sorted(merged))


def merge_filled(reports: Sequence[FillReport], *, embedder: str) -> FillReport:
    """Return the sums.

    Args:
        reports: What each store did.
        embedder: Fingerprint of the embedder that was filled in.
    """
    return FillReport(
        embedder=embedder,
        embedded=sum(report.embedded for report in reports),
        keys=sum(report.keys for report in reports),
    )


def merge_switched(reports: Sequence[SwitchReport], *, new: str) -> SwitchReport:
    """Return the sums, and the embedder that was in use before, in the first store with another.

    Args:
        reports: What each store did.
        new: Fingerprint of the embedder in use now.
    """
    used = [report.old for report in reports if report.old is not None]
    return SwitchReport(
        old=next((one for one in used if one != new), new if used else None),
        new=new,
        embedded=sum(report.embedded for report in reports),
        index=merge_settled([report.index for report in reports]),
    )


def merge_restored(reports: Sequence[RestoreReport]) -> RestoreReport:
    """Return the sums, and the first note.

    Args:
        reports: What each store took in, of one file; at least one.
    """
    added, known, purged = Counter[str](), Counter[str](), Counter[str]()
    for report in reports:
        added.update(report.added)
        known.update(report.known)
        purged.update(report.purged)
    return replace(
        reports[0],
        added=+added,
        known=+known,
        purged=+purged,
        kept=sum(report.kept for report in reports),
        embedder_note=next((one.embedder_note for one in reports if one.embedder_note), ""),
    )


def _sum_of(one: KeptVectors, other: KeptVectors) -> KeptVectors:
    return replace(
        one,
        vectors=one.vectors + other.vectors,
        nbytes=one.nbytes + other.nbytes,
        in_use=one.in_use or other.in_use,
    )
