"""``consilience cluster``: features in, one clustering out."""

from __future__ import annotations

import time
from typing import Any

import click

from .._base.names import AUTO
from ._dask import WRITES, check_lazy, cluster_lazily, dask_option
from ._files import (
    check_inputs,
    check_model_output,
    check_output,
    check_report,
    fit_arguments,
    save_model,
    source,
    write_report,
    write_result,
)
from ._listing import check_generator, check_method
from ._options import (
    Objects,
    Reading,
    Results,
    Running,
    common,
    generator_option,
    method_option,
    n_clusterings_option,
    number_or_auto_option,
    objects,
    param_option,
    preprocess_option,
    reading,
    results,
    running,
)
from ._params import generator_params, method_params
from ._session import Session


@click.command("cluster", short_help="Cluster a table of features by consensus.")
@click.argument("features")
@number_or_auto_option
@method_option(AUTO)
@generator_option(AUTO)
@n_clusterings_option
@preprocess_option
@results
@click.option("--save-ensemble", metavar="FILE", default=None, help="Also write the base clusterings.")
@objects
@dask_option("FEATURES", more=WRITES)
@param_option("method")
@param_option("generator")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    features: str,
    n_clusters: int | str,
    save_ensemble: str | None,
    scheduler: str | None,
    results: Results,
    objects: Objects,
    running: Running,
    reading: Reading,
    as_json: bool,
    **making: Any,
) -> None:
    """Cluster the rows of FEATURES by consensus: make base clusterings, then combine them.

    By default, the number of objects decides which generator and method are used. Each base clustering sees
    the columns in a randomly drawn form (unchanged, scaled or as ranks), so that units do not matter. A
    generator given by --generator uses the columns unchanged, unless --preprocess or --generator-param
    preprocess=... says otherwise. If its base clusterings need a number of clusters, they get that of the
    result.

    \b
    Examples:
      consilience cluster features.csv -k 3 -o labels.csv --save-report report.html
      consilience cluster features.csv -k auto -o labels.csv
      consilience cluster features.csv -k 3 --generator kmeans -n 30 --confidence -o labels.csv
      consilience cluster features.csv -k 3 --generator random-k --generator-param n_clusters=2,8 --json
      consilience cluster features.csv -k 3 -g spectral -m lwea --method-param instability_tolerance=1 --json
      consilience cluster features.csv -k 3 --preprocess standardize --method mdec -o labels.csv
      consilience cluster genes.tsv -k 3 --transpose -o labels.csv
      consilience cluster features.csv -k 3 --min-cluster-size 5 --sample-weight weights.csv -o labels.csv
      consilience cluster features.csv -k 3 --save-model model.consilience -o labels.csv
      consilience cluster big.parquet -k 12 --dask -o labels/
    """
    start = time.perf_counter()
    refused = {**objects.in_files, "--transpose": reading.transpose, "--key": reading.key}
    _check_outputs(features, results, save_ensemble, None if scheduler is None else refused, as_json=as_json)
    check_method(making["method"], making["method_param"], auto=True)
    check_generator(making["generator"], making["generator_param"], preprocess=making["preprocess"])
    if scheduler is None:
        check_inputs(features, *objects.in_files.values())

    from .._base.progress import progress_shown
    from .._warmup.first_use import compiling_beside
    from ..io import read_features, write_ensemble

    model = _estimator(n_clusters, running, min_cluster_size=objects.min_cluster_size, **making)
    if scheduler is not None:
        cluster_lazily(
            session, model, features, scheduler, index=reading.index, results=results, as_json=as_json
        )
        return
    with (
        compiling_beside(_uses(model), session.say),
        progress_shown(False if session.quiet else None),
    ):
        table = read_features(source(features), **vars(reading), on_note=session.note)
        model.fit(table, **fit_arguments(session, objects, table, features))
        if save_ensemble is not None:
            write_ensemble(model.ensemble_, save_ensemble)
        save_model(session, results.save_model, model)
        if hasattr(model, "study_"):
            session.note(str(model.study_))
        write_result(
            session, results, model.method_, table.sample_names, as_json=as_json, facts=_facts(model)
        )
        write_report(
            session,
            results.save_report,
            model,
            table.X,
            source=features,
            names=table.sample_names,
            seconds=time.perf_counter() - start,
        )


def _facts(model: Any) -> dict[str, Any]:
    """What the line of JSON says about how the result was made."""
    from .._results.view import Fitted

    facts = {
        "command": "cluster",
        "generator": model.plan_.generator,
        "method": type(model.method_).__name__,
        "parameters": model.method_.get_params(),
        "n_clusterings": model.ensemble_.n_clusterings,
    }
    if (agreement := Fitted.from_estimator(model).seed_agreement) is not None:
        facts["stability"] = agreement
    if hasattr(model, "study_"):
        facts["study"] = model.study_.to_dict()
    return facts


def _check_outputs(
    features: str,
    results: Results,
    save_ensemble: str | None,
    refused: dict[str, Any] | None,
    *,
    as_json: bool,
) -> None:
    """Refuse before the work what could not be written after it.

    ``refused`` holds what --dask does not take; None without it.
    """
    output, save_report = results.output, results.save_report
    if refused is not None:
        check_lazy(output, {"--save-report": save_report, "--save-ensemble": save_ensemble, **refused})
    else:
        check_output(output, features, as_json=as_json)
    check_model_output(results.save_model, features, output, save_ensemble or output, save_report or output)
    check_report(save_report, features, output, save_ensemble or output)
    if save_ensemble is not None:
        check_output(save_ensemble, features, outputs=[output], as_json=True, json_instead=False)


def _estimator(
    n_clusters: int | str,
    running: Running,
    *,
    method: str,
    method_param: tuple[str, ...],
    generator: str,
    generator_param: tuple[str, ...],
    n_clusterings: int | None,
    preprocess: str | None,
    min_cluster_size: float | None,
) -> Any:
    """The estimator that the options ask for, not fitted."""
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
        generator_params=generator_params(maker, generator_param, {}, preprocess=preprocess),
        method=method,
        method_params=method_params(cls, method_param),
        n_clusterings=n_clusterings,
        min_cluster_size=min_cluster_size,
        **vars(running),
    )


def _uses(model: Any) -> list[str]:
    """The tasks of :func:`..warming.tasks` that the model uses, as far as they are known before the data."""
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
