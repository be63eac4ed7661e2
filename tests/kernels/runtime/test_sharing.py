"""Threads where they pay: what a place remembers of its rates, and helpers that leave when of no help."""

from __future__ import annotations

import threading
import time

import pytest

from consilience._kernels.runtime import sharing
from consilience._kernels.runtime import threads as parallel
from consilience._kernels.runtime.sharing import ALONE, WAITING, Place, Rate, place_of
from consilience._kernels.runtime.threads import map_tasks

SECTION = 0.02  # seconds of work at the places below


def known(alone=1.0, shared=2.0):
    """A place that has been measured often: work done in a second by the caller alone, and by all threads."""
    place = Place()
    place.seconds = place.unit = SECTION / 10
    for _ in range(100):
        place.alone.add(SECTION, SECTION / alone)
        place.shared.add(SECTION, SECTION / shared)
    return place


# What a place remembers
# ---------------------------------------------------------------------------------------


def test_a_rate_is_work_by_the_clock_and_forgets():
    rate = Rate(1.0)
    assert rate.value == 1.0
    rate.add(0.03, 0.06)
    assert 0.5 < rate.value < 1.0
    rate.add(5.0, 10.0)
    assert rate.value == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("alone", "shared", "brief"),
    [
        (1.0, 1.9, False),  # two free cores
        (1.0, 0.9, True),  # taking turns with the interpreter's lock
        (1.0, 1.05, True),  # a gain that caches eat up
        (0.67, 0.95, False),  # beside two busy processes, and two threads get more of the cores than one
        (0.67, 0.6, True),  # the same where a helper is waited for
        (0.02, 0.04, False),  # tasks that wait for something outside
    ],
)
def test_work_is_shared_out_where_that_was_the_better_rate(alone, shared, brief):
    place = known(alone, shared)
    place.was_shared(SECTION, SECTION / shared, 10)
    assert place.brief(10) == brief


def test_the_shortest_work_is_never_shared_out_and_unknown_work_may_be():
    place = known()
    place.seconds = ALONE / 11
    assert place.brief(10)
    assert not place.brief(12)
    assert not Place().brief(10)


def test_what_did_not_pay_is_tried_again_now_and_then():
    """A machine that was busy is quiet later."""
    place = known(1.0, 0.8)
    trials = 0
    for _ in range(400):
        if place.brief(10):
            place.was_alone(SECTION, SECTION, 10)
        else:
            trials += 1
            place.was_shared(SECTION, SECTION / 0.8, 10)
    assert 5 <= trials <= 30
    seen = []
    for _ in range(400):
        seen.append(place.brief(10))
        if seen[-1]:
            place.was_alone(SECTION, SECTION, 10)
        else:
            place.was_shared(SECTION, SECTION / 1.9, 10)
    assert not any(seen[-100:])


def test_a_slow_caller_is_helped_again_at_once():
    """That threads get little is no reason against them, where the caller alone gets less."""
    place = Place()
    place.seconds = SECTION / 10
    place.was_shared(SECTION, SECTION / 0.5, 10)
    assert place.brief(10)  # a free core was assumed
    for _ in range(5):
        place.was_alone(SECTION, SECTION / 0.3, 10)
    assert not place.brief(10)


def test_work_that_threads_make_dearer_does_not_count_twice():
    """Both threads are busy all the time, and the tasks take as long as before."""
    place = known()
    place.was_alone(SECTION, SECTION, 10)
    for _ in range(20):
        place.was_shared(2 * SECTION, SECTION, 10)
    assert place.shared.value == pytest.approx(1.0, abs=0.1)
    assert place.brief(10)


def test_what_was_learned_of_other_work_is_forgotten():
    place = known(1.0, 0.8)
    place.was_alone(SECTION, SECTION, 10)
    place.was_shared(SECTION, SECTION / 0.8, 10)
    assert place.brief(10)
    place.was_alone(3 * SECTION, 3 * SECTION, 10)  # other data
    place.seconds = 3 * SECTION / 10
    assert not place.brief(10)


@pytest.mark.parametrize(("times", "brief"), [(0.3, True), (100, False)])
def test_other_work_is_first_measured_alone_unless_its_tasks_are_long(times, brief):
    place = known()
    place.was_shared(times * SECTION, times * SECTION / 1.9, 10)
    place.seconds = times * SECTION / 10
    assert place.unit is None
    assert place.brief(10) == brief


def test_clocks_that_stand_still_do_no_harm():
    """A thread's clock may be coarser than its tasks are long."""
    place = Place()
    for _ in range(3):
        place.was_alone(0.0, 500.0, 10)
        place.was_shared(0.0, 500.0, 10)
    assert place.limit <= WAITING


def test_long_work_is_tried_again_within_the_call():
    place = known(1.0, 0.8)
    for _ in range(50):
        place.was_shared(10.0, 12.5, 10)
    assert place.limit == WAITING


def test_places_are_told_apart_by_code_and_by_about_how_many_tasks():
    def one(i):
        return i

    def another(i):
        return i

    assert place_of(one, 5) is place_of(one, 7)
    assert place_of(one, 5) is not place_of(one, 70)
    assert place_of(one, 5) is not place_of(another, 5)
    assert place_of(print, 5) is place_of(print, 5)


# Helpers
# ------------------------------------------------------------------------------------------------------


def helped(count, judge, monkeypatch):
    """How many of so many tasks helpers did, where ``judge`` says whether that pays."""
    monkeypatch.setattr(sharing, "_places", {})
    monkeypatch.setattr(parallel, "_TRIAL", 0.0005)
    monkeypatch.setattr(Place, "pays", lambda self, rate: judge())

    def task(i):
        time.sleep(0.002)
        return threading.get_ident()

    place_of(task, count).seconds = 1.0
    who = map_tasks(task, list(range(count)), n_jobs=2)
    return sum(each != threading.get_ident() for each in who)


def test_a_helper_that_does_not_help_leaves(monkeypatch):
    monkeypatch.setattr(parallel, "_PAUSE", 60.0)
    assert helped(100, lambda: False, monkeypatch) <= 1


def test_a_helper_that_helps_stays(monkeypatch):
    assert helped(100, lambda: True, monkeypatch) >= 20


def test_a_helper_comes_back_to_see_whether_it_helps_now(monkeypatch):
    monkeypatch.setattr(parallel, "_PAUSE", 0.002)
    answers = iter([False, False])
    assert helped(100, lambda: next(answers, True), monkeypatch) >= 10


def test_work_in_turns_ends_with_the_caller_alone(monkeypatch):
    """Two threads do not speed up what holds the interpreter's lock: the place learns it; order is kept."""
    monkeypatch.setattr(sharing, "_places", {})

    def task(i):
        return i, threading.get_ident()

    place = place_of(task, 100)
    place.seconds = SECTION / 100
    place.was_shared(SECTION, SECTION / 0.7, 10)
    found = map_tasks(task, list(range(100)), n_jobs=2)
    assert [i for i, _ in found] == list(range(100))
    assert {who for _, who in found} == {threading.get_ident()}
