"""The built site as a reader meets it: every link works, pages open from disk and ask for no network.

Run by ``make docs-test``. Screenshots go to the folder that CONSILIENCE_SCREENSHOTS names.
"""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

pytestmark = pytest.mark.site

SCREENS = {"desktop": (1280, 900, False), "phone": (390, 844, True)}
#: Pages whose pictures are kept for a look.
SHOWN = (
    "index",
    "five-minutes",
    "how-it-works",
    "which-method",
    "methods/index",
    "methods/sccabg",
    "methods/locally-weighted",
    "api/names/consilience.ConsensusClustering",
    "api/consensus",
    "gallery/index",
    "coming-from",
    "glossary",
    "faq",
    "research/index",
    "reproduction/index",
    "guide",
    "mixed-data",
    "troubleshooting",
)


class Page(HTMLParser):
    """What a page offers to be linked to, and what it links to, shows or loads."""

    def __init__(self, file: Path):
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names.update(given[key] for key in ("id", "name") if given.get(key))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script", "source", "iframe") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("href") and "stylesheet" in given.get("rel", ""):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {file: Page(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}


def is_outside(address: str) -> bool:
    return bool(urlsplit(address).scheme) or address.startswith("//")


def test_every_internal_link_leads_to_a_page_and_a_place_on_it(pages):
    lost = []
    for file, page in pages.items():
        for link in page.links:
            if is_outside(link):
                continue
            path, place = urldefrag(link)
            target = (file.parent / unquote(urlsplit(path).path)).resolve() if path else file
            if not target.exists():
                lost.append(f"{file.name}: {link}: no such file")
            elif place and target in pages and unquote(place) not in pages[target].names:
                lost.append(f"{file.name}: {link}: no such place")
    assert lost == []


def test_every_page_can_be_reached_from_the_first(pages, site):
    seen, ahead = set(), [site / "index.html"]
    while ahead:
        file = ahead.pop()
        if file in seen:
            continue
        seen.add(file)
        links = (urldefrag(link)[0] for link in pages[file].links if not is_outside(link))
        targets = {(file.parent / unquote(urlsplit(link).path)).resolve() for link in links if link}
        ahead += [target for target in targets if target in pages]
    assert {file.relative_to(site).as_posix() for file in set(pages) - seen} <= {
        "genindex.html",
        "search.html",
    }


def test_what_pages_load_lies_beside_them(pages):
    for file, page in pages.items():
        for address in page.loads:
            if address.startswith("data:"):
                continue
            assert not is_outside(address), f"{file.name} loads {address}"
            assert (file.parent / unquote(urlsplit(address).path)).exists(), f"{file.name} loads {address}"


def test_styles_load_nothing_from_elsewhere(site):
    for file in site.rglob("*.css"):
        for address in re.findall(
            r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", file.read_text("utf-8")
        ):
            raise AssertionError(f"{file.name} loads {address}")


def test_the_site_names_no_folder_of_the_machine_it_was_built_on(pages, site):
    here = str(Path(__file__).parents[2])
    found = [
        file.name
        for file in site.rglob("*")
        if file.suffix in (".html", ".js", ".svg", ".css") and here in file.read_text("utf-8", "replace")
    ]
    assert found == []


# In a browser
# -----------------------------------------------------------------------------------------------------


def visit(browser, file: Path) -> None:
    browser.events.clear()
    browser.call("Page.navigate", {"url": file.as_uri()})
    browser.wait(f"document.readyState === 'complete' && location.href === {json.dumps(file.as_uri())}")
    browser.run("new Promise((done) => setTimeout(done, 30))")


def wear(browser, *, dark: bool) -> None:
    scheme = "dark" if dark else "light"
    browser.run(
        f"document.documentElement.dataset.theme = document.documentElement.dataset.mode = {scheme!r}"
    )


#: What sticks out of the page, by name, unless something around it scrolls.
OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide + 1) return [];
  return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > wide + 1)
    .slice(0, 4).map((e) => `${e.tagName}.${e.className}: ${e.getBoundingClientRect().right}`);
})()"""
#: Pictures that did not load, of those that are shown.
BLANK = (
    "[...document.images].filter((i) => i.complete && i.naturalWidth === 0 && i.offsetParent)"
    ".map((i) => i.src)"
)


@pytest.mark.browser
def test_every_page_opens_on_any_screen_in_silence(browser, pages, site):
    faults = []
    browser.screen(1280, 900)
    folder = os.environ.get("CONSILIENCE_SCREENSHOTS")
    for file in pages:
        name = file.relative_to(site).with_suffix("").as_posix()
        visit(browser, file)
        for screen, (width, height, phone) in SCREENS.items():
            for dark in (False, True):
                browser.call(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone},
                )
                wear(browser, dark=dark)
                faults += [f"{name}, {screen}: {one} sticks out" for one in browser.run(OVERFLOW)]
                if folder and name in SHOWN:
                    browser.run("new Promise((done) => setTimeout(done, 200))")
                    shot = f"{name.replace('/', '.')}-{screen}-{'dark' if dark else 'light'}.png"
                    browser.screenshot(Path(folder) / shot, whole=screen == "desktop")
        faults += [f"{name}: {picture} is blank" for picture in browser.run(BLANK)]
        faults += [
            f"{name} asks for {url}" for url in browser.requests() if not url.startswith(("file:", "data:"))
        ]
        faults += [f"{name} says {words}" for words in browser.complaints()]
    assert faults == []


@pytest.mark.browser
def test_search_finds_pages_offline(browser, site):
    visit(browser, site / "search.html")
    browser.call("Page.navigate", {"url": (site / "search.html").as_uri() + "?q=confidence"})
    browser.wait("document.querySelectorAll('#search-results li a').length > 3")
    found = browser.run("[...document.querySelectorAll('#search-results li a')].map((a) => a.href)")
    assert any("confidence.html" in address for address in found)
    assert browser.complaints() == []
