"""``consilience generate``: features in, an ensemble file out."""

from __future__ import annotations

import sys

import click

from ._options import (
    GENERATORS,
    check_output,
    common,
    output,
    param_option,
    reading,
    run_generator,
    running,
    source,
)
from ._session import Session


@click.command("generate", short_help="Make an ensemble of clusterings from a table of features.")
@click.argument("features")
@click.option(
    "-g", "--generator", type=click.Choice(GENERATORS), default="random-k", show_default=True, help="How."
)
@click.option("-n", "--n-clusterings", type=int, help="How many clusterings. [default: 20]")
@click.option("-k", type=int, default=None, help="Clusters of each, for generators with a fixed number.")
@output
@param_option("--param", "generator")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    features: str,
    generator: str,
    n_clusterings: int | None,
    k: int | None,
    output: str,
    param: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Make an ensemble of clusterings of the rows of FEATURES.

    The ensemble has one column per clustering. Written as .npz it also keeps the recipe of each.

    \b
    Examples:
      consilience generate features.csv -n 20 -o ensemble.npz
      consilience generate features.csv --generator kmeans -k 3 -n 10 --seed 1 -o ensemble.csv
      consilience generate features.csv -g random-k --param k_max=8 > ensemble.csv
    """
    from ..io import read_features, write_ensemble
    from ..progress import progress_shown

    check_output(output, features, as_json=as_json, json_instead=False)
    with progress_shown(False if session.quiet else None):
        table = read_features(source(features), key=key, header=header, index=index, report=session.note)
        ensemble = run_generator(
            generator, table.values, param, n_clusterings=n_clusterings, k=k, random_state=seed, n_jobs=n_jobs
        )
        if table.row_names is not None:
            ensemble = type(ensemble)(ensemble, sample_names=table.row_names)
        write_ensemble(sys.stdout.buffer if output == "-" else output, ensemble)
    if output != "-":
        session.say(f"wrote {ensemble.n_clusterings} clusterings of {ensemble.n_samples} objects to {output}")
    if as_json:
        session.print_json(
            {
                "command": "generate",
                "generator": generator,
                "n_samples": ensemble.n_samples,
                "n_clusterings": ensemble.n_clusterings,
                "n_clusters": ensemble.n_clusters,
                "missing": float((ensemble.labels < 0).mean()),
                "recipes": ensemble.recipes,
                "output": output,
            }
        )
