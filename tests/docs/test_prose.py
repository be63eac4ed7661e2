"""User pages keep the rules of prose; the list of those that do not yet can only become shorter."""

from __future__ import annotations

import pytest

from . import prose


@pytest.mark.parametrize("page", prose.pages())
def test_a_page_keeps_the_rules_that_it_is_not_listed_for(page):
    listed = {rule for rule, named in prose.listed().items() if page in named}
    found = prose.broken(page, (prose.ROOT / page).read_text("utf-8"))
    fresh = {rule: hits for rule, hits in found.items() if rule not in listed}
    assert fresh == {}, f"{page}: mend these (python -m tests.docs.prose {page})"
    assert listed <= set(found), f"{page} keeps more rules now: run python -m tests.docs.prose --shrink"


def test_the_list_names_pages_and_rules_that_there_are():
    listed = prose.listed()
    assert set(listed) <= {*prose.RULES, "too long"}
    assert {page for named in listed.values() for page in named} <= set(prose.pages())


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("history", "This was chosen on the first sets."),
        ("provenance", "Measured at commit 1a2b3c4d."),
        ("private words", "One of the published pools."),
        ("unidiomatic", "A model is no pickle."),
        ("no leading zero", "The index is .53 there."),
        ("sentence above 30 words", "- " + "word " * 31 + "end."),
        ("more than 3 numbers in a sentence", "It has 12, 0.5, 40% and 1,000 of them."),
        ("table above 5 columns or 8 rows", "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n"),
        ("table above 5 columns or 8 rows", "| a |\n|---|\n" + "| 1 |\n" * 9),
        ("code above 80 columns", "```python\n" + "x" * 81 + "\n```\n"),
        ("formula in plain text", "    m = sum_p w_p\n"),
        ("code without output", "```python\nprint(1)\n```\n"),
        ("too long", "word " * 601),
    ],
)
def test_each_rule_finds_what_it_is_about(rule, text):
    assert rule in prose.broken("docs/methods/x.md", text)


def test_what_is_no_prose_is_left_alone():
    text = (
        "# The pools of half A\n\n<!-- picture: x | of the pools -->\n\nThe option `.5` and $x^{.5}$\n"
        "are code.\n\n"
        "```python\nprint(.5)  # anew\n```\n\n```text\n0.5\n```\n\n"
        "| a | b |\n|---|---|\n"
        + "| 1 | 2 |\n" * 8
        + "\n- One item of the list\n- and another one, which ends here.\n"
    )
    assert set(prose.broken("docs/methods/x.md", text.replace("pools of half A", "page"))) == set()
    assert {"private words", "history"} <= set(prose.broken("docs/methods/x.md", text))
