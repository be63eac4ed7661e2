"""Tables of gene expression often have genes in rows; the names of the rows show it."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Accession numbers of genes, transcripts and probes: Ensembl, RefSeq, Entrez with a prefix, Affymetrix,
#: Illumina.
_ACCESSION = re.compile(
    r"(ENS[A-Z]{0,6}[GT]\d{6,}(\.\d+)?(_.*)?|[NX][MR]_\d{4,}(\.\d+)?|ENTREZ:?\d+|HGNC:\d+|ILMN_\d{4,}|(AFFX-\S+|\d{3,}(_[a-z])*)_at)"
)
#: Symbols of genes; nearly every table of human or mouse genes has some of them.
_SYMBOLS = frozenset(
    [
        "ACTB",
        "GAPDH",
        "B2M",
        "TUBB",
        "TUBA1A",
        "RPL13A",
        "RPLP0",
        "RPS18",
        "HPRT1",
        "TBP",
        "PPIA",
        "YWHAZ",
        "SDHA",
        "UBC",
        "EEF1A1",
        "EEF2",
        "HSP90AB1",
        "HSPA8",
        "TP53",
        "MYC",
        "EGFR",
        "BRCA1",
        "BRCA2",
        "KRAS",
        "PTEN",
        "CDKN2A",
        "ERBB2",
        "ESR1",
        "CCND1",
        "VEGFA",
        "MKI67",
        "PCNA",
        "CD4",
        "CD8A",
        "CD19",
        "CD3E",
        "PTPRC",
        "EPCAM",
        "KRT18",
        "VIM",
        "FN1",
        "COL1A1",
        "STAT3",
        "JUN",
        "FOS",
        "TNF",
        "IL6",
        "CXCL8",
        "HBB",
        "HBA1",
        "ALB",
        "APOE",
        "INS",
    ]
)
_MOST = 20_000  # names looked at


def look_like_genes(names: Sequence[str] | None) -> bool:
    """Whether most names are accession numbers, or several are well-known symbols of genes."""
    shown = [str(name).strip() for name in (names or [])[:_MOST]]
    accessions = sum(1 for name in shown if _ACCESSION.fullmatch(name))
    symbols = sum(1 for name in shown if name.upper() in _SYMBOLS)
    return 2 * accessions > len(shown) or (symbols >= 5 and len(shown) >= 50)
