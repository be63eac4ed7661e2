"""Displays: each computes and stores its numbers, then draws them with matplotlib.

Drawing needs ``pip install 'consilience[plot]'``.

>>> import consilience as cs
>>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
>>> display = cs.plot.CoassociationDisplay.from_estimator(model)
>>> display.values.round(2).tolist()[1]
[0.67, 1.0, 0.33, 0.33]
>>> figure = display.plot().figure_  # doctest: +SKIP

``from_estimator`` takes a fitted consensus method or pipeline, ``from_ensemble`` takes base clusterings with
any labels, and ``from_study`` takes the result of :func:`consilience.choose_k`. :func:`colors` gives your own
pictures the colors of the displays.
"""

from ._agreement import AgreementDisplay, AlluvialDisplay, WeightsDisplay
from ._choose import CDFDisplay, ChooseKDisplay, DeltaAreaDisplay, SpectrumDisplay, TrackingDisplay
from ._coassociation import CoassociationDisplay
from ._comparison import ComparisonDisplay
from ._confidence import ConfidenceDisplay
from ._embedding import EmbeddingDisplay
from ._features import FeaturesDisplay
from ._history import ConvergenceDisplay, PacingDisplay
from ._reliability import CalibrationDisplay
from .style import colors

__all__ = [
    "AgreementDisplay",
    "AlluvialDisplay",
    "CDFDisplay",
    "CalibrationDisplay",
    "ChooseKDisplay",
    "CoassociationDisplay",
    "ComparisonDisplay",
    "ConfidenceDisplay",
    "ConvergenceDisplay",
    "DeltaAreaDisplay",
    "EmbeddingDisplay",
    "FeaturesDisplay",
    "PacingDisplay",
    "SpectrumDisplay",
    "TrackingDisplay",
    "WeightsDisplay",
    "colors",
]
