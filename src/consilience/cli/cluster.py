"""``consilience cluster``: features in, one clustering out."""

from __future__ import annotations

import click

from ._options import (
    GENERATORS,
    build_method,
    check_output,
    common,
    confidence_option,
    method_option,
    output,
    param_option,
    reading,
    run_generator,
    running,
    source,
    write_result,
)
from ._session import Session


@click.command("cluster", short_help="Cluster a table of features by consensus.")
@click.argument("features")
@click.option("-k", "--n-clusters", type=int, required=True, help="Number of clusters of the result.")
@method_option
@click.option(
    "-g",
    "--generator",
    type=click.Choice(GENERATORS),
    default="random-k",
    show_default=True,
    help="How the base clusterings are made.",
)
@click.option(
    "-n", "--n-clusterings", type=int, default=20, show_default=True, help="How many base clusterings."
)
@output
@confidence_option
@click.option(
    "--ensemble", "ensemble_output", metavar="FILE", default=None, help="Also write the base clusterings."
)
@param_option("--param", "method")
@param_option("--generator-param", "generator")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    features: str,
    n_clusters: int,
    method: str,
    generator: str,
    n_clusterings: int,
    output: str,
    confidence: bool,
    ensemble_output: str | None,
    param: tuple[str, ...],
    generator_param: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Cluster the rows of FEATURES by consensus: make base clusterings, then combine them.

    Columns are used as they are: bring them to a common scale first if their units differ. Generators with a fixed number
    of clusters use that of the result.

    \b
    Examples:
      consilience cluster features.csv -k 3 -o labels.csv
      consilience cluster features.csv -k 3 --generator kmeans -n 30 --confidence -o labels.csv
      consilience cluster features.csv -k 3 --generator-param k_max=8 --json
    """
    from ..io import read_features, write_ensemble
    from ..progress import progress_shown

    check_output(output, features, as_json=as_json)
    if ensemble_output is not None:
        check_output(ensemble_output, features, as_json=True, json_instead=False)
    model = build_method(method, n_clusters, param, seed=seed, n_jobs=n_jobs)
    with progress_shown(False if session.quiet else None):
        table = read_features(source(features), key=key, header=header, index=index, report=session.note)
        fixed = n_clusters if generator in ("kmeans", "spectral", "random-features", "bagging") else None
        ensemble = run_generator(
            generator, table.values, n_clusterings, fixed, generator_param, seed=seed, n_jobs=n_jobs
        )
        if table.row_names is not None:
            ensemble = type(ensemble)(ensemble, sample_names=table.row_names)
        if ensemble_output is not None:
            write_ensemble(ensemble_output, ensemble)
        model.fit(ensemble)
        facts = {
            "command": "cluster",
            "generator": generator,
            "method": type(model).__name__,
            "parameters": model.get_params(),
            "n_clusterings": ensemble.n_clusterings,
        }
        write_result(
            session, output, model, table.row_names, confidence=confidence, as_json=as_json, facts=facts
        )
