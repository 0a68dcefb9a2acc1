"""`fencepost`: the one lazy place, so that help answers at once."""

from __future__ import annotations

import importlib
import sys

import click

from app.cli import failing

#: What can be typed: name → module, and one line of help.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Run a command on a repository; end with a pull request."),
    "up": ("up", "Start servers, dispatcher and workers; Ctrl-C drains."),
    "down": ("down", "Stop what `up` started, and whatever was left behind."),
    "status": ("status", "Show servers, roles, queues, and what is under way."),
    "attempts": ("attempts", "List, show, cancel and retry attempts."),
    "dead-letters": ("dead_letters", "List, show, replay and dismiss what could not be done."),
    "queues": ("queues", "List, pause, resume and limit the queues."),
    "gates": ("gates", "List and decide what waits for a person."),
    "unknown": ("unknown", "List, show and decide work whose outcome nothing proves."),
    "explain": ("explain", "Tell any id as a story, from the rows alone."),
    "verify": ("verify", "Check every law on a whole database, and at the remote."),
    "doctor": ("doctor", "Check the installation, and say what to mend."),
    "logs": ("logs", "Show what an attempt wrote while it ran."),
    "pull-requests": ("pull_requests", "List, show, close and merge pull requests."),
    "refs": ("refs", "List and prune what runs have left at their remotes."),
    "tasks": ("tasks", "List, show, move, dispatch and retry tasks."),
    "work-orders": ("work_orders", "Create, submit, approve, dispatch and show work orders."),
    "tokens": ("tokens", "Create, list and revoke the tokens by which others may ask."),
    "worlds": ("worlds", "List worlds, and set what they allow."),
    "database": ("database", "Bring the database up to date, or say what it needs."),
    "sql": ("sql", "Open psql by a login of the database."),
    "dispatcher": ("dispatcher", "Run the dispatcher in this process."),
    "worker": ("worker", "Run a worker in this process."),
    "webhook": ("webhook", "Hear a forge's webhooks, so that what waits looks sooner."),
    "flower": ("flower", "Run Flower, which shows queues and workers."),
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"app.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost", prog_name="fencepost")
def fencepost() -> None:
    """Turn approved work into reviewed pull requests, exactly once.

    Begin with `fencepost run -- COMMAND` in a git repository.
    """


def main() -> None:
    """Run the command line and exit with the code of DESIGN §5."""
    sys.exit(failing.ending(lambda: fencepost.main(prog_name="fencepost", standalone_mode=False)))


if __name__ == "__main__":
    main()
