"""Cluster handwritten digits by consensus, compare with the base clusterings, write the labels and a report.

The data set (1797 images of digits, 64 pixels) comes with scikit-learn. Nothing here uses the true digits
until the scores are printed.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits

import consilience as cs

OUT = Path("demo")


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    print(f"{len(X)} images of handwritten digits, {X.shape[1]} pixels each (bundled with scikit-learn)\n")

    ensemble = cs.generate.random_k(X, n_clusterings=40, k_min=10, random_state=0)
    print(ensemble)
    model = cs.EvidenceAccumulation(n_clusters=10).fit(ensemble)

    print(f"\n{'':12}  ACC    NMI    ARI")
    for row, scores in cs.metrics.compare(model.labels_, ensemble, digits).items():
        print(f"{row:12} {scores['acc']:.3f}  {scores['nmi_arithmetic']:.3f}  {scores['ari']:.3f}")

    OUT.mkdir(exist_ok=True)
    cs.io.write_labels(OUT / "labels.csv", model.labels_, confidence=model.confidence_)
    reliability = cs.plot.ReliabilityDisplay.from_estimator(model, digits, edges=[0, 0.6, 0.9, 1])
    print("\nconfidence    images  rightly placed")
    for words, images, right in zip(
        ("below 0.6", "0.6 to 0.9", "above 0.9"), reliability.counts, reliability.right
    ):
        print(f"{words:12} {images:7}  {right:.0%}")
    print(f"Labels and confidence of every image: {OUT / 'labels.csv'}")
    page = cs.report(model, X, path=OUT / "report.html", truth=digits, source="handwritten digits")
    print(f"The whole story, in your browser: {page.path.resolve().as_uri()}")


if __name__ == "__main__":
    main()
