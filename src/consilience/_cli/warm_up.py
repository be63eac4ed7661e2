"""``consilience warm-up``: compiles everything ahead of the first use."""

from __future__ import annotations

from time import perf_counter

import click

from ..errors import InputError
from ._listing import listing
from ._options import common
from ._session import Session


@click.command("warm-up", short_help="Compile everything ahead of the first use.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--n-jobs", type=int, default=-1, help="Number of processes; -1 uses all cores. [default: -1]")
@common
@click.pass_obj
def command(session: Session, names: tuple[str, ...], n_jobs: int | None, as_json: bool) -> None:
    """Compile for this machine what would otherwise be compiled at first use: everything, or each NAME.

    Compiled code is kept on disk, in NUMBA_CACHE_DIR if that is set and beside the package otherwise. Code
    that is already there is not compiled again. To build a container image, add: RUN consilience warm-up.

    \b
    Examples:
      consilience warm-up
      consilience warm-up ConsensusClustering generate.kmeans
    """
    known = listing()["warm-up"]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"Nothing to compile is called {unknown[0]!r}; choose from {', '.join(known)}.")

    from .._warmup.first_use import missing
    from .._warmup.warm_up import warm_up

    chosen = list(names) or list(known)
    wanted = missing(chosen)
    session.say(
        f"Compiling what is not on disk yet for {len(chosen)} methods, generators and measures: "
        f"{len(wanted)} kernels, about {sum(kernel.seconds for kernel in wanted):.0f} seconds on one core."
    )
    done, begun = [], perf_counter()
    for i, warmed in enumerate(warm_up(chosen, n_jobs=n_jobs), 1):
        done.append(warmed)
        what = f"{warmed.compiled} kernels compiled" if warmed.compiled else "ready"
        session.say(f"{i}/{len(chosen)} {warmed.name}: {what}, {warmed.seconds:.1f} s")
    compiled, seconds = sum(w.compiled for w in done), perf_counter() - begun
    if as_json:
        session.print_json(
            {
                "command": "warm-up",
                "compiled": compiled,
                "seconds": seconds,
                "steps": [w._asdict() for w in done],
            }
        )
        return
    click.echo(f"{compiled} kernels compiled in {seconds:.0f} s; they are kept for next time.")
