"""``consilience cluster``: features in, one clustering out."""

from __future__ import annotations

import time
from typing import Any

import click

from .._base.names import AUTO
from ._dask import check_lazy, cluster_lazily
from ._files import (
    check_model_output,
    check_output,
    check_report,
    save_model,
    source,
    write_report,
    write_result,
)
from ._options import (
    common,
    confidence_option,
    generator_option,
    method_option,
    n_clusterings_option,
    output,
    param_option,
    reading,
    report_option,
    running,
    save_option,
    scale_option,
)
from ._params import generator_params, method_params
from ._session import Session


def _number_or_auto(ctx: click.Context, option: click.Parameter, value: str) -> int | str:
    if value.strip().lower() == AUTO:
        return AUTO
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a whole number nor {AUTO}.", ctx, option) from None


@click.command("cluster", short_help="Cluster a table of features by consensus.")
@click.argument("features")
@click.option(
    "-k",
    "--n-clusters",
    required=True,
    metavar="INTEGER|auto",
    callback=_number_or_auto,
    help='Number of clusters of the result; "auto" chooses it ("consilience choose-k" shows how).',
)
@method_option(AUTO)
@generator_option(AUTO)
@n_clusterings_option
@scale_option
@output
@confidence_option
@report_option
@save_option
@click.option(
    "--ensemble", "ensemble_output", metavar="FILE", default=None, help="Also write the base clusterings."
)
@click.option(
    "--dask",
    "scheduler",
    is_flag=False,
    flag_value="threads",
    default=None,
    metavar="[ADDRESS]",
    help="Read Parquet (a file or a folder) or zarr block by block, larger than memory, and write labels to a folder: on threads here, or "
    "on the Dask scheduler at ADDRESS. Give FEATURES before it.",
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
    n_clusters: int | str,
    method: str,
    generator: str,
    n_clusterings: int | None,
    scale: bool,
    output: str,
    confidence: bool,
    report_output: str | None,
    model_output: str | None,
    ensemble_output: str | None,
    scheduler: str | None,
    param: tuple[str, ...],
    generator_param: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    transpose: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Cluster the rows of FEATURES by consensus: make base clusterings, then combine them.

    By default the number of objects decides how, and each base clustering sees the columns in a way drawn for it (as they are,
    brought to a common scale, as ranks), so that units do not matter. A generator that is named uses columns as they are, unless
    --scale or --generator-param preprocess=... says otherwise, and, if its members have a given number of clusters, that of the
    result.

    \b
    Examples:
      consilience cluster features.csv -k 3 -o labels.csv --report report.html
      consilience cluster features.csv -k auto -o labels.csv
      consilience cluster features.csv -k 3 --generator kmeans -n 30 --confidence -o labels.csv
      consilience cluster features.csv -k 3 --generator random-k --generator-param k_max=8 --json
      consilience cluster features.csv -k 3 --generator spectral --method lwea --param instability_tolerance=1 -o labels.csv
      consilience cluster features.csv -k 3 --scale --method mdec -o labels.csv
      consilience cluster genes.tsv -k 3 --transpose -o labels.csv
      consilience cluster features.csv -k 3 --save model.consilience -o labels.csv
      consilience cluster big.parquet -k 12 --dask -o labels/
    """
    from .._base.progress import progress_shown
    from .._warmup.first_use import compiling_beside
    from ..io import read_features, write_ensemble

    start = time.perf_counter()
    if scheduler is not None:
        refused = {
            "--report": report_output,
            "--ensemble": ensemble_output,
            "--transpose": transpose,
            "--key": key,
        }
        check_lazy(output, refused)
    else:
        check_output(output, features, as_json=as_json)
    check_model_output(model_output, features, output, ensemble_output or output, report_output or output)
    check_report(report_output, features, output, ensemble_output or output)
    if ensemble_output is not None:
        check_output(ensemble_output, features, outputs=[output], as_json=True, json_instead=False)
    model = _estimator(
        n_clusters,
        method,
        param,
        generator,
        generator_param,
        n_clusterings,
        scale=scale,
        seed=seed,
        n_jobs=n_jobs,
    )
    if scheduler is not None:
        cluster_lazily(
            session,
            model,
            features,
            scheduler,
            index=index,
            output=output,
            confidence=confidence,
            model_output=model_output,
            as_json=as_json,
        )
        return
    with (
        compiling_beside(_uses(model), session.say),
        progress_shown(False if session.quiet else None),
    ):
        table = read_features(
            source(features), key=key, header=header, index=index, transpose=transpose, on_note=session.note
        )
        model.fit(table)
        if ensemble_output is not None:
            write_ensemble(ensemble_output, model.ensemble_)
        save_model(session, model_output, model)
        fitted = model.method_
        facts = {
            "command": "cluster",
            "generator": model.plan_.generator,
            "method": type(fitted).__name__,
            "parameters": fitted.get_params(),
            "n_clusterings": model.ensemble_.n_clusterings,
        }
        if hasattr(model, "study_"):
            facts["study"] = model.study_.to_dict()
            session.note(str(model.study_))
        write_result(
            session, output, fitted, table.sample_names, confidence=confidence, as_json=as_json, facts=facts
        )
        write_report(
            session,
            report_output,
            model,
            table.X,
            source=features,
            names=table.sample_names,
            seconds=time.perf_counter() - start,
        )


def _estimator(
    n_clusters: int | str,
    method: str,
    param: tuple[str, ...],
    generator: str,
    generator_param: tuple[str, ...],
    n_clusterings: int | None,
    *,
    scale: bool,
    seed: int,
    n_jobs: int | None,
) -> Any:
    """What the options ask for, not fitted."""
    from .. import consensus, generate
    from .._base.names import find
    from .._pipeline.consensus_clustering import WHOLE, ConsensusClustering
    from .._pipeline.defaults import is_auto

    whole = find(method, WHOLE)
    if whole is not None and is_auto(generator):
        generator = whole.generator
    maker = None if is_auto(generator) else generate.generator(generator)
    combining = whole.method if whole else method
    cls = None if is_auto(combining) else consensus.method(combining)
    return ConsensusClustering(
        n_clusters,
        generator=generator if maker is None else maker.name,
        generator_params=generator_params(maker, generator_param, {}, scale=scale),
        method=method,
        method_params=method_params(cls, param),
        n_clusterings=n_clusterings,
        random_state=seed,
        n_jobs=n_jobs,
    )


def _uses(model: Any) -> list[str]:
    """What of :func:`..warming.tasks` the model comes down to, as far as that is known before the data."""
    from .. import consensus, generate
    from .._base.names import find
    from .._pipeline.consensus_clustering import WHOLE
    from .._pipeline.defaults import is_auto

    if find(model.method, WHOLE) is not None:
        return ["MDEC"]
    if is_auto(model.generator) or is_auto(model.method):
        found = ["ConsensusClustering"]
    else:
        found = []
    if not is_auto(model.generator):
        found.append(f"generate.{generate.generator(model.generator).make.__name__}")
    if not is_auto(model.method):
        found.append(consensus.method(model.method).__name__)
    return found
