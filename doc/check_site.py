"""Check the built site in a headless browser.

Run ``python doc/check_site.py doc/_build/html`` after a build. It needs Chromium and
``pip install ".[doc-check]"``. Every page is opened at desktop width, at phone width and in dark
mode; the program lists what is wrong and fails if anything is.
"""

import argparse
import functools
import http.server
import os
import shutil
import sys
import threading
from collections import defaultdict
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import sync_playwright

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Folders of the built site that hold no pages of ours.
NO_PAGES = {"_static", "_sources", "_downloads", "_images"}
# Contrast that WCAG asks of text (level AA) for small and for large letters.
SMALL_TEXT, LARGE_TEXT = 4.5, 3.0
# What the search must find, and the page it must lead to.
SEARCHES = {
    "smooth_ece": "api/generated/skcal.metrics.smooth_ece.html",
    "TemperatureScaling": "api/generated/skcal.recalibration.TemperatureScaling.html",
    "grid search": "user_guide/model_selection.html",
}

READ_PAGE = """() => {
  const images = [...document.images];
  images.forEach(image => { image.loading = "eager"; });
  return Promise.all(images.map(image => image.decode().catch(() => null))).then(() => ({
    anchors: [...document.querySelectorAll("[id], a[name]")].map(node => node.id || node.name),
    links: [...document.querySelectorAll("a[href]")].map(node => node.href),
    broken: images.filter(image => image.naturalWidth === 0).map(image => image.src),
    pictures: images.filter(image => image.src.includes("/_images/")).length,
    unread: [...document.querySelectorAll(
      "main .problematic, main .system-message, main .unread-formula"
    )].map(node => node.textContent),
  }));
}"""

# What sticks out of the text of a page. Code, tables and formulas may scroll by themselves; the
# article and what it is in may not.
READ_OVERFLOW = """() => {
  const article = document.querySelector("article") || document.body;
  for (let around = article; around; around = around.parentElement) {
    if (around.scrollWidth <= around.clientWidth + 1) continue;
    const width = document.documentElement.clientWidth;
    const out = [...around.querySelectorAll("*")].filter(node => {
      if (node.getBoundingClientRect().right <= width + 1) return false;
      for (let above = node.parentElement; above !== around; above = above.parentElement)
        if (getComputedStyle(above).overflowX !== "visible") return false;
      return true;
    });
    return [`${around.scrollWidth} px`].concat(out.slice(-2).map(n => n.outerHTML.slice(0, 100)));
  }
  return [];
}"""

# Contrast of all text with what is painted behind it, worst first.
READ_CONTRAST = """([small, large]) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const parse = color => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const luminance = color => color.map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true}))
      continue;
    if (node.closest("svg, script, style, noscript, [aria-hidden=true]")) continue;
    const style = getComputedStyle(node);
    const ground = behind(node);
    const ink = over(parse(style.color), ground);
    const [a, b] = [luminance(ink), luminance(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const key = `${style.color} on rgb(${ground.map(Math.round)})`;
    if (ratio < (isLarge ? large : small) && !found.has(key))
      found.set(key, `${ratio.toFixed(2)}: ${key}, <${node.tagName.toLowerCase()} `
        + `class="${node.className}"> ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  return [...found.values()];
}"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A server of files that keeps no log."""

    def log_message(self, format, *args):
        """Say nothing."""


class SiteCheck:
    """Opens the pages of a built site and collects what is wrong with each."""

    def __init__(self, page, root, url):
        self.page = page
        self.root = root
        self.url = url
        self.problems = defaultdict(list)
        self.anchors, self.links = {}, {}
        self._current = ""
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.note(f"error of a script: {error}"))
        page.on("request", self._note_request)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._note_response)

    def note(self, problem):
        """Remember a problem of the page that is open, once."""
        if problem not in self.problems[self._current]:
            self.problems[self._current].append(problem)

    def _note_console(self, message):
        if message.type in {"error", "warning"}:
            self.note(f"{message.type} in the console: {message.text}")

    def _note_request(self, request):
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.note(f"asks another host: {request.url}")

    def _note_failure(self, request):
        # What a page was still loading when the next one was opened is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.note(f"failed to load ({request.failure}): {request.url}")

    def _note_response(self, response):
        if response.status >= 400:
            self.note(f"status {response.status}: {response.url}")

    def open(self, name, query=""):
        """Open a page of the site."""
        self._current = name
        self.page.goto(f"{self.url}/{name}{query}", wait_until="load")

    def check_page(self, name):
        """Everything that can be said of one page alone."""
        self.page.set_viewport_size(DESKTOP)
        self.page.emulate_media(color_scheme="light")
        self.open(name)
        content = self.page.evaluate(READ_PAGE)
        self.anchors[name], self.links[name] = set(content["anchors"]), set(content["links"])
        for source in content["broken"]:
            self.note(f"picture does not show: {source}")
        for text in content["unread"]:
            self.note(f"markup that Sphinx did not understand: {text}")
        is_example = name.startswith("auto_examples/") and Path(name).name.startswith("plot_")
        if is_example and not content["pictures"]:
            self.note("an example without a picture")
        self._check_contrast("light")
        self.page.emulate_media(color_scheme="dark")
        self._check_contrast("dark")
        self.page.set_viewport_size(PHONE)
        for problem in self.page.evaluate(READ_OVERFLOW):
            self.note(f"scrolls sideways at {PHONE['width']} px: {problem}")

    def _check_contrast(self, mode):
        # The theme hears of the preference a moment later; a page without it fails here.
        is_followed = f"document.documentElement.dataset.theme === '{mode}'"
        try:
            self.page.wait_for_function(is_followed, timeout=2_000)
        except PlaywrightTimeoutError:
            self.note(f"does not become {mode} where the reader prefers it")
        # Colours that fade are read where they end.
        self.page.evaluate("document.getAnimations().forEach(animation => animation.finish())")
        for text in self.page.evaluate(READ_CONTRAST, [SMALL_TEXT, LARGE_TEXT]):
            self.note(f"contrast, {mode}: {text}")

    def check_links(self):
        """Whether links inside the site lead to files and anchors that exist."""
        for name, links in self.links.items():
            self._current = name
            for link in sorted(links):
                target, fragment = urldefrag(link)
                if not target.startswith(self.url + "/"):
                    continue
                path = unquote(urlsplit(target).path).lstrip("/") or "index.html"
                if not (self.root / path).is_file():
                    self.note(f"link to nothing: {path}")
                elif fragment and unquote(fragment) not in self.anchors.get(path, {fragment}):
                    self.note(f"link to an anchor that is not there: {path}#{fragment}")

    def check_search(self):
        """Whether the search finds what it should."""
        for words, wanted in SEARCHES.items():
            self.open("search.html", f"?q={words}")
            selector = f'#search-results a[href*="{wanted}"]'
            try:
                self.page.wait_for_selector(selector, state="attached", timeout=15_000)
            except PlaywrightTimeoutError:
                self.note(f"search for {words!r} does not find {wanted}")

    def check_gallery(self):
        """Whether the gallery shows a picture for every example."""
        self._current = "auto_examples/index.html"
        examples = {
            str(path.relative_to(self.root))
            for path in self.root.glob("auto_examples/**/plot_*.html")
        }
        linked = {urlsplit(link).path.lstrip("/") for link in self.links.get(self._current, ())}
        for name in sorted(examples - linked):
            self.note(f"example that the gallery does not show: {name}")
        if not examples:
            self.note("there are no examples")


def list_pages(root):
    """Names of all pages below a folder."""
    names = (path.relative_to(root) for path in sorted(root.rglob("*.html")))
    return [name.as_posix() for name in names if not NO_PAGES & set(name.parts)]


def find_browser():
    """Path of Chromium on this machine, or None for the one that playwright brings."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


def check_site(root, pages=None):
    """Problems of every page of a built site, as a dict of lists."""
    handler = functools.partial(QuietHandler, directory=root)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        check = SiteCheck(browser.new_page(), root, f"http://127.0.0.1:{server.server_port}")
        for name in pages or list_pages(root):
            check.check_page(name)
        if not pages:
            check.check_links()
            check.check_gallery()
            check.check_search()
        browser.close()
        server.shutdown()
    return {name: problems for name, problems in check.problems.items() if problems}


def main():
    """Read the command line, check, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the built site, such as doc/_build/html")
    parser.add_argument("pages", nargs="*", help="look at these pages only, such as index.html")
    arguments = parser.parse_args()
    root = arguments.folder.resolve()
    if not (root / "index.html").is_file():
        parser.error(f"folder must hold a built site; there is no index.html in {root}.")
    problems = check_site(root, arguments.pages)
    for name, texts in problems.items():
        print(name, *texts, sep="\n    ")
    n_pages = len(arguments.pages or list_pages(root))
    print(f"{n_pages} pages, {sum(map(len, problems.values()))} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
