"""What went wrong, as one of a few classes, and when two failures are the same (T09, T11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.digest import Digest, Json, canonical, digest, text

_LONGEST_LINE = 200

#: What differs from one run to the next, in the order in which it is taken out of a line.
_VOLATILE = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"),
     "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:\.{0,2}[/\\])[^\s'\":,;)\]]+"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+|\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F]{7,}(?:-[0-9a-fA-F]+)*\b"),
     "<hex>"),
    (re.compile(r"\d+"), "<n>"),
)  # fmt: skip


class FailureClass(StrEnum):
    """Why something did not work; what follows by itself depends on this alone."""

    TRANSIENT = "transient"  #: the outside world did not answer, and may the next time
    CAPACITY = "capacity"  #: this host, or a provider, was short of something
    LOST_WORKER = "lost_worker"  #: the lease of a claim ran out
    AUTHORIZATION = "authorization"
    INVALID_CONFIGURATION = "invalid_configuration"
    UNKNOWN_SIDE_EFFECT = "unknown_side_effect"
    SCOPE_VIOLATION = "scope_violation"
    VALIDATION = "validation"  #: deterministic: the same input fails again
    COMMAND = "command"  #: the command or the agent said no
    TIMEOUT = "timeout"
    BUDGET = "budget"
    CANCELED = "canceled"
    OUR_FAULT = "our_fault"


_CODES: Mapping[FailureClass, str] = {
    FailureClass.TRANSIENT: (
        "remote_unreadable git_failed push_lost provider_error database_unreachable "
        "redis_unreachable wrong_state model_unavailable"
    ),
    FailureClass.CAPACITY: (
        "host_failed disk_full forge_limited processes_survived servers_unavailable "
        "process_immortal model_limited supervisor_lost"
    ),
    FailureClass.LOST_WORKER: "stale_fence claim_not_live",
    FailureClass.AUTHORIZATION: (
        "push_refused publication_refused forge_refused forge_not_ready gate_rejected "
        "model_unauthorized model_quota_used_up"
    ),
    FailureClass.INVALID_CONFIGURATION: (
        "command_not_found command_not_executable base_missing unsafe_name unsafe_path "
        "database_unfit redis_unfit setup_error credential_missing path_matches_nothing "
        "cannot_bind setting_unfit setting_missing secret_unreadable "
        "agent_missing agent_unfit agent_key_missing model_refused lfs_missing "
        "unsupported_repository isolation_unavailable folder_missing"
    ),
    FailureClass.UNKNOWN_SIDE_EFFECT: (
        "forge_uncertain request_exists digest_conflict malformed_result foreign_operation_ref "
        "operation_ref_missing branch_clash closed_without_decision database_behind_remote "
        "publication_uncertain payload_missing modes_mixed "
        "foreign_open foreign_closed foreign_merged head_moved base_changed several "
        "unresolved_call request_missing claims_keep_ending"
    ),
    FailureClass.SCOPE_VIOLATION: (
        "outside_scope link_leaves_repository link_leaves_scope submodule_link name_clash "
        "git_name special_file large_file too_deep too_large checkout_destroyed "
        "secret_in_identity secret_in_candidate"
    ),
    FailureClass.VALIDATION: (
        "check_failed check_changed_files output_contract_broken unfit_input not_found bad_input "
        "forge_check_failed request_closed request_head_replaced"
    ),
    FailureClass.COMMAND: "command_failed agent_failed ending_missing supervisor_killed",
    FailureClass.TIMEOUT: (
        "deadline_exceeded stalled check_timed_out checks_timed_out tree_unreadable"
    ),
    FailureClass.BUDGET: "poison budget_exhausted",
    FailureClass.CANCELED: "canceled abandoned stopped",
    FailureClass.OUR_FAULT: "our_fault wrong_isolation unknown_activity append_only",
}

#: The stable code of an error, a friction or an unknown → its class.
CLASS_OF: Mapping[str, FailureClass] = {
    code: failure for failure, codes in _CODES.items() for code in codes.split()
}


def failure_class(code: str) -> FailureClass:
    """The class of a code; what nobody has classed is our fault, and is not tried again."""
    return CLASS_OF.get(code, FailureClass.OUR_FAULT)


@dataclass(frozen=True, slots=True)
class Signature:
    """What makes two failures the same: class, step, and the first line without its accidents."""

    failure: FailureClass
    step: str
    line: str

    @property
    def digest(self) -> Digest:
        """The digest of its canonical form."""
        value: dict[str, Json] = {
            "class": self.failure, "step": text(self.step), "line": self.line,
        }  # fmt: skip
        return digest(canonical(value))


def signature(step: str, code: str, detail: str) -> Signature:
    """The signature of a failed step, from the first friction that it left (T11)."""
    return Signature(failure_class(code), step, normalised(detail))


def normalised(words: str) -> str:
    """The first line that says something, without times, paths, hexadecimal ids and numbers."""
    lines = (" ".join(line.split()) for line in text(words).splitlines())
    line = next((line for line in lines if line), "")
    for volatile, instead in _VOLATILE:
        line = volatile.sub(instead, line)
    return line[:_LONGEST_LINE]
