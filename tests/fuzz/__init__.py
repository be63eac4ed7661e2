"""A fuzzer: hostile ensembles, features, weights, parameters and files against the library's promises.

``python -m tests.fuzz --help`` says how to run it; ``make fuzz MINUTES=30 SEED=1`` runs it for long. Each
case is determined by the seed, the name of its suite and its number alone, runs in a child process, and is
saved when it fails, so that ``python -m tests.fuzz --replay FILE`` runs that very case again.

    properties.py                       what a case, a property and a suite are, and how one case is run
    ensembles.py, _data/features.py     the hostile data
    consensus.py, views.py, measures.py, makers.py, tasks.py, doors.py, trips.py, hostile_files.py
                                        the suites
    runner.py                           parent and child, counts, replay
"""
