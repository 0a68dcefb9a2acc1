"""Rules that refuse pushes, in GitHub's words."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from doubles.github.world import Repository, Rule

ZERO = "0" * 40
WORDS = {
    "creation": "Cannot create ref due to creations being restricted.",
    "update": "Cannot update this protected ref.",
    "deletion": "Cannot delete this protected ref.",
}
#: what git shows in brackets behind the ref
SUMMARIES = {
    "rules": "push declined due to repository rule violations",
    "secrets": "push declined due to repository rule violations",
    "protected": "protected branch hook declined",
    "hook": "pre-receive hook declined",
    "hidden": "deny updating a hidden ref",
}


@dataclass(frozen=True)
class Refusal:
    """One ref that may not move, and what the pusher reads."""

    ref: str
    summary: str
    text: str


def refusal_of(repo: Repository, old: str, new: str, ref: str) -> Rule | None:
    """The first rule that forbids the change."""
    kind = "creation" if old == ZERO else "deletion" if new == ZERO else "update"
    for rule in repo.rules:
        if rule.reason != "secrets" and kind in rule.kinds and fnmatchcase(ref, rule.pattern):
            return rule
    return None


def refusals(base: str, repo: Repository, updates: list[tuple[str, str, str]]) -> list[Refusal]:
    """Every ref of a push that a rule forbids."""
    found = []
    for old, new, ref in updates:
        rule = refusal_of(repo, old, new, ref)
        if rule is not None:
            kind = "creation" if old == ZERO else "deletion" if new == ZERO else "update"
            text = said(base, repo, rule, ref, kind)
            found.append(Refusal(ref, SUMMARIES[rule.reason], text))
    return found


def said(base: str, repo: Repository, rule: Rule, ref: str, kind: str) -> str:
    """What stands in the pusher's terminal behind `remote:`."""
    page = f"{base}/{repo.full_name}/rules?ref={ref.replace('/', '%2F')}"
    match rule.reason:
        case "rules" | "secrets":
            why = rule.text if rule.text and rule.reason == "rules" else WORDS[kind]
            if rule.reason == "secrets":
                why = "GITHUB PUSH PROTECTION\n    Push cannot contain secrets"
            return (
                f"error: GH013: Repository rule violations found for {ref}.\n"
                f"Review all repository rules at {page}\n\n- {why}\n\n"
            )
        case "protected":
            return (
                f"error: GH006: Protected branch update failed for {ref}.\nerror: {WORDS[kind]}\n"
            )
        case "hook":
            return rule.text or "Refused by a pre-receive hook of this server.\n"
        case _:
            return ""
