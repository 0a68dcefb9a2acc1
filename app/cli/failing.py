"""How a command ends: the one table from what went wrong to exit code and words."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import click

from app.domain.errors import DeliveryError, FencepostError, ProviderError, Refused, SetupError

DONE, FAILED, REFUSED, UNKNOWN, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 70, 130

#: What to do, where the error itself cannot know.
ADVICE = {
    "database_unreachable": "start it, or correct FENCEPOST_DATABASE_URL",
    "database_unfit": "see `fencepost database current`, and which login the URL is of",
    "redis_unreachable": "start it, or correct FENCEPOST_REDIS_URL",
    "unsafe_name": "name a folder, or a URL by https, ssh, git or file, without credentials",
    "merge_refused": "see `fencepost pull-requests show`, then merge its base into the head",
    "git_failed": "see what git says above; `fencepost status` shows what is under way",
    "remote_unreadable": "see that `git ls-remote` works on it, then try again",
}

OTHERWISE = "`fencepost status` shows how things stand"

#: First match wins.
EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (Refused, REFUSED),
    (SetupError, REFUSED),
    (ProviderError, FAILED),
    (DeliveryError, FAILED),
    (FencepostError, FAILED),
    (OSError, FAILED),
    (click.ClickException, REFUSED),
)


def ending(command: Callable[[], object]) -> int:
    """Run a command and return its exit code; what went wrong is said on standard error."""
    try:
        result = command()
        sys.stdout.flush()  # while somebody may still be told that nobody reads
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (BrokenPipeError, SystemExit):  # click turns the one into the other
        return _nobody_reads()
    except BaseException as fault:  # noqa: BLE001  # the edge: every end is translated here
        return _told(fault)
    return result if isinstance(result, int) else DONE


def exit_code(fault: BaseException) -> int:
    """What a fault means to whoever started the command."""
    if _was_interrupted(fault):
        return INTERRUPTED
    for kind, code in EXIT_CODES:
        if isinstance(fault, kind):
            return code
    return OUR_FAULT


def _told(fault: BaseException) -> int:
    code = exit_code(fault)
    if os.environ.get("FENCEPOST_DEBUG"):
        traceback.print_exception(fault)
    match fault:
        case _ if code == INTERRUPTED:
            _say("interrupted", "interrupted", OTHERWISE)
        case FencepostError():
            _say(fault.message, fault.code, fault.advice or ADVICE.get(fault.code, OTHERWISE))
        case click.UsageError():
            where = fault.ctx.command_path if fault.ctx else "fencepost"
            _say(fault.format_message(), "usage", f"see `{where} --help`")
        case click.ClickException():
            _say(fault.format_message(), "usage", "see `fencepost --help`")
        case OSError():
            hint = "see that its folder is yours, and that the disk has room"
            _say(f"this host refuses: {fault}", "host_failed", hint)
        case _:
            name = type(fault).__name__
            hint = "set FENCEPOST_DEBUG=1 to see where; please report it"
            _say(f"this should not happen: {name}: {fault}", "internal", hint)
    return code


def _was_interrupted(fault: BaseException) -> bool:
    """Whether it follows from a Ctrl-C, which may come in the middle of anything."""
    before: BaseException | None = fault
    while before is not None:
        if isinstance(before, KeyboardInterrupt | click.Abort):
            return True
        before = before.__context__
    return False


def _say(message: str, code: str, hint: str) -> None:
    first, *more = message.split("\n")  # each of the others may have a code of its own
    begun = f"{first.removesuffix(':')} ({code}):" if more else f"{first} ({code})"
    print("\n".join([f"error: {begun}", *more]), file=sys.stderr)
    if hint:
        print(f"  {hint}", file=sys.stderr)


def _nobody_reads() -> int:
    """Output into a pipe whose reader left is no fault; Python must not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
