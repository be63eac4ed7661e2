"""The program around the subcommands: lazy loading, messages, and the exit codes.

0: success; 1: an error in the library; 2: bad usage or input; 130: interrupted; 141: the output is not read
to its end.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import click

from .. import __version__
from .._kernels.compile.interrupts import interrupt_again, interrupts_outside_kernels
from ..errors import ConsilienceError
from ._session import Session, one_line

#: Subcommand -> (module in this package, the one line of the overview). A module is imported when its command
#: is used.
COMMANDS = {
    "cluster": ("cluster", "Cluster a table of features by consensus."),
    "generate": ("generate", "Make an ensemble of clusterings from a table of features."),
    "consensus": ("consensus", "Turn an ensemble of clusterings into one."),
    "predict": ("predict", "Label new objects with a saved model."),
    "choose-k": ("choose_k", "Estimate the number of clusters, and show the evidence."),
    "multitask": ("multitask", "Cluster related tasks together."),
    "score": ("score", "Compare clusterings with known classes."),
    "report": ("report", "Write an HTML page about a result in files."),
    "methods": ("methods", "List the consensus methods and generators."),
    "warm-up": ("warm_up", "Compile everything ahead of the first use."),
}


class _ReaderLeft(Exception):
    """A broken pipe, under a name that click does not turn into exit code 1 by itself."""


class _OutputFull(Exception):
    """Standard output takes no more; for a file, the error of its writer names it."""


#: Disk full, quota used up, file too large, device broken, output closed.
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG, errno.EIO, errno.EBADF})


class Program(click.Group):
    """A group that knows its commands by name and imports them on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f".{COMMANDS[name][0]}", __package__).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command {args[0]!r}; {hint}", ctx=error.ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            raise _ReaderLeft from None
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise _OutputFull(error.strerror) from None

    def main(
        self,
        args: Any = None,
        prog_name: str | None = "consilience",
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As in click, with our exit codes."""
        args = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        session = Session()
        session.arguments = args
        code = 1
        try:
            with _interrupts_arrive(), _shown_warnings(session):
                result = super().main(
                    args, "consilience", complete_var, standalone_mode=False, obj=session, **extra
                )
                code = result if isinstance(result, int) else 0
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            _complain("interrupted.")
            code = 130
        except (_ReaderLeft, BrokenPipeError):
            # The program that reads the output has closed it.
            _drop_output()
            code = 141
        except _OutputFull as error:
            _drop_output()
            _complain(f"error: cannot write to standard output: {error}; what is there is incomplete.")
            code = 2
        except ConsilienceError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL:
                _drop_output()
            if "--debug" in args:
                traceback.print_exc()
            _complain(f"error: {one_line(error)}")
            code = 2
        except MemoryError:
            _complain(
                "error: out of memory; use fewer objects, features or clusterings, or a method without "
                "pairwise matrices."
            )
            code = 2
        except Exception as error:
            if _was_interrupted(error):
                _complain("interrupted.")
                sys.exit(130)
            if (
                isinstance(error, OSError) and error.errno in _FULL
            ):  # help texts, printed before a command runs
                _drop_output()
                _complain(f"error: cannot write to standard output: {error.strerror}.")
                sys.exit(2)
            if "--debug" in args:
                traceback.print_exc()
            _complain(
                f"internal error: {type(error).__name__}: {one_line(error)}. This is a bug in consilience. "
                "Please report it in the project's issue tracker with the output of: consilience --debug "
                f"{' '.join(a for a in args if a != '--debug')} (version {__version__})"
            )
        sys.exit(code)


def _was_interrupted(error: BaseException) -> bool:
    """Whether a Ctrl-C caused an error that was raised when compiled code returned.

    Compiled code raises nothing itself. Python turns an interrupt that arrives while it runs into a
    SystemError with these words.
    """
    return isinstance(error, SystemError) and "returned a result with an exception set" in str(error)


@contextlib.contextmanager
def _interrupts_arrive() -> Iterator[None]:
    """Within the block, raise a Ctrl-C again that arrived where nothing can be raised.

    This happens, for instance, while compiled code is being loaded.
    """
    before = sys.unraisablehook

    def again(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            interrupt_again()
        else:
            before(unraisable)

    sys.unraisablehook = again
    try:
        with interrupts_outside_kernels():
            yield
    finally:
        sys.unraisablehook = before


def _drop_output() -> None:
    """Drop what standard output has not taken; otherwise Python would report the error again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"consilience: {text}", err=True)


@contextlib.contextmanager
def _shown_warnings(session: Session) -> Iterator[None]:
    """Show warnings meant for users, one line each, and hide those meant for programmers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: session.warning(message)
        yield


@click.command(
    cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="consilience", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def cli() -> None:
    """Consensus clustering: many imperfect clusterings in, one better clustering out.

    \b
    Examples:
      consilience cluster features.csv -k 3 -o labels.csv
      consilience generate features.csv -n 20 -o ensemble.npz
      consilience consensus ensemble.npz -k 3 -o labels.csv
      consilience score labels.csv --labels-true truth.csv

    "consilience COMMAND --help" explains each command. Files may be CSV, TSV or TXT (also .gz), NPY, NPZ,
    Parquet or MATLAB; the ending of the name tells the format. "-" is standard input (in any of these
    formats) or standard output (as CSV).
    """


def _terminated(number: int, frame: Any) -> None:
    """End as Ctrl-C does when asked to terminate, so that no temporary file stays behind."""
    raise SystemExit(128 + number)


def _replace_closed_streams() -> None:
    """Open the null device for closed standard streams, whose descriptors later files would take.

    A closed standard output becomes a stream that fails when it is written to; otherwise output would be lost
    silently.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115 - as long as the process


def main(args: list[str] | None = None) -> None:
    """Entry point of the command ``consilience``."""
    _replace_closed_streams()
    with contextlib.suppress(ValueError, AttributeError):  # not in the main thread, or no such signal
        signal.signal(signal.SIGTERM, _terminated)
    cli.main(args)
