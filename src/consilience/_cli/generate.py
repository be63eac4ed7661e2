"""``consilience generate``: features in, an ensemble file out."""

from __future__ import annotations

import sys

import click

from .._base.names import AUTO
from ..errors import InputError
from ._files import check_inputs, check_output, source
from ._listing import check_generator
from ._options import (
    Reading,
    Running,
    common,
    generator_option,
    n_clusterings_option,
    n_clusters_option,
    output,
    param_option,
    preprocess_option,
    reading,
    running,
)
from ._params import generator_params, parse_n_clusters
from ._session import Session


@click.command("generate", short_help="Make an ensemble of clusterings from a table of features.")
@click.argument("features")
@generator_option("random-k")
@n_clusterings_option
@preprocess_option
@n_clusters_option(
    "Number of clusters of each clustering; 2:8 draws it from an interval, 3,5,8 from a list.",
    metavar="INTEGER|LOW:HIGH",
    default=None,
)
@output
@param_option("generator")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    features: str,
    generator: str,
    n_clusterings: int | None,
    preprocess: str | None,
    n_clusters: str | None,
    output: str,
    generator_param: tuple[str, ...],
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Make an ensemble of clusterings of the rows of FEATURES.

    The ensemble has one column per clustering. Written as .npz it also keeps the recipe of each.

    \b
    Examples:
      consilience generate features.csv -n 20 -o ensemble.npz
      consilience generate features.csv --generator kmeans -k 3 -n 10 --random-state 1 -o ensemble.csv
      consilience generate features.csv -g random-k -k 2:8 > ensemble.csv
    """
    check_output(output, features, as_json=as_json, json_instead=False)
    reserved = {} if n_clusters is None else {"n_clusters": "the option -k"}
    if generator.strip().lower() == AUTO:
        raise InputError(
            "generate needs the name of a generator. The automatic choice depends on the number of clusters "
            "of the result: use 'consilience cluster FILE -k K --save-ensemble ensemble.npz'."
        )
    check_generator(generator, generator_param, more=reserved, preprocess=preprocess)
    check_inputs(features)

    from .. import generate
    from .._base.progress import progress_shown
    from .._warmup.first_use import compiling_beside
    from ..io import read_features, write_ensemble

    maker = generate.generator(generator)
    params = generator_params(maker, generator_param, reserved, preprocess=preprocess)
    if n_clusters is not None:
        params["n_clusters"] = parse_n_clusters(n_clusters)
    if maker.needs_n_clusters and "n_clusters" not in params:
        raise InputError(f"The generator {maker.name} needs a number of clusters: give -k.")
    uses = [f"generate.{maker.make.__name__}"]
    with compiling_beside(uses, session.say), progress_shown(False if session.quiet else None):
        table = read_features(source(features), **vars(reading), on_note=session.note)
        ensemble = maker(table, params, n_clusterings=n_clusterings, **vars(running))
        write_ensemble(ensemble, sys.stdout.buffer if output == "-" else output)
    if output != "-":
        session.say(f"wrote {ensemble.n_clusterings} clusterings of {ensemble.n_samples} objects to {output}")
    if as_json:
        session.print_json(
            {
                "command": "generate",
                "generator": maker.name,
                "n_samples": ensemble.n_samples,
                "n_clusterings": ensemble.n_clusterings,
                "n_clusters": ensemble.n_clusters_per_clustering,
                "missing": float((ensemble.labels < 0).mean()),
                "recipes": ensemble.recipes,
                "output": output,
            }
        )
