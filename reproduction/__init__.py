"""Published comparisons, rerun: protocols as data, a runner that survives being killed, and honest tables.

    python -m reproduction list
    python -m reproduction run spce --data DIR --out results/
    python -m reproduction report results/

Not part of the library: it needs the extra ``reproduction`` (``pip install -e '.[reproduction]'``) and a
checkout.
"""
