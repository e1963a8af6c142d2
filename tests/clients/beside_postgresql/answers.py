"""What a program says of a server: lines `section | key | value`, and the list of what differs between two servers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

NO_REASON = "# No reason"
Answers = dict[str, list[str]]


def answers(output: str) -> Answers:
    """The values that were said, by `section/key`."""
    found: Answers = defaultdict(list)
    for line in output.splitlines():
        section, key, value = line.split(" | ", 2)
        found[f"{section}/{key}"].append(value)
    return dict(found)


def different(ours: Answers, theirs: Answers) -> dict[str, str]:
    """What differs, with both answers as a reader wants to see them: the lines that only one of them has."""
    shown: dict[str, str] = {}
    for key in sorted(ours.keys() | theirs.keys()):
        mine, its = ours.get(key, []), theirs.get(key, [])
        if mine != its:
            only_mine = [f"  ours:   {line}" for line in mine if line not in its]
            only_its = [f"  theirs: {line}" for line in its if line not in mine]
            shown[key] = "\n".join([key, *(only_mine + only_its or ["  the order"])])
    return shown


def listed(path: Path) -> dict[str, list[str]]:
    """The keys that may differ, by reason."""
    reasons: dict[str, list[str]] = {}
    reason = NO_REASON
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("# "):
            reason = line
        elif line.strip():
            reasons.setdefault(reason, []).append(line)
    return reasons


def write_list(path: Path, found: dict[str, str]) -> None:
    """Writes the list anew: known keys stay under their reasons, and new ones come first, under none."""
    reasons = listed(path)
    kept = {reason: [key for key in keys if key in found] for reason, keys in reasons.items() if reason != NO_REASON}
    known = {key for keys in kept.values() for key in keys}
    parts = {NO_REASON: [key for key in found if key not in known], **kept}
    path.write_text("\n\n".join("\n".join([reason, *keys]) for reason, keys in parts.items() if keys) + "\n")
