"""What the site has besides the pages of docs/: pages that are elsewhere, and the script that draws diagrams.

mkdocs calls these functions; see `hooks` in mkdocs.yml.
"""

from __future__ import annotations

import posixpath
import re
import sys
import zipfile
from functools import partial
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files at the top of the repository that are pages of the site."""

SCRIPT = "assets/mermaid.min.js"
_LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+)(#[\w-]+)?\)")
_NOT_IN_THE_SCRIPT = (
    "braintree__sanitize-url cytoscape cytoscape-cose-bilkent cytoscape-fcose d3 d3-sankey dagre-d3-es dayjs dompurify"
    " iconify__utils katex khroma lodash-es marked mermaid-js__parser roughjs stylis ts-dedent types__d3 uuid"
)
"""What Mermaid was built from: the built script has it within."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside of docs/, and the script where mkdocs.yml names its version."""
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=(REPOSITORY / path).read_text(encoding="utf-8")))
    if config.extra.get("mermaid"):
        files.append(File.generated(config, SCRIPT, content=_mermaid(config.extra["mermaid"])))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  # as mkdocs calls it
    """Links as they hold in the site. In the repository they hold among its files."""
    uri = page.file.src_uri
    path = next((path for path, own in PAGES.items() if own == uri), f"docs/{uri}")
    return _LINK.sub(partial(_link, path, uri), markdown)


def _link(path: str, uri: str, link: re.Match[str]) -> str:
    text, target, anchor = link.groups(default="")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if file in PAGES:
        to = PAGES[file]
    elif file.startswith("docs/"):
        to = file.removeprefix("docs/")
    elif (REPOSITORY / file).exists():
        return f"`{file}`"  # a file that the site has not
    else:
        return link[0]
    return f"[{text}]({posixpath.relpath(to, posixpath.dirname(uri) or '.')}{anchor})"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Load the script where there is a diagram. The theme would fetch one from elsewhere when the page is read."""
    if 'class="mermaid"' not in output or not config.extra.get("mermaid"):
        return output
    return output.replace("</head>", f'<script src="{get_relative_url(SCRIPT, page.url)}"></script></head>', 1)


def _mermaid(version: str) -> bytes:
    """The script out of Mermaid's jar, which is brought by the way of the other jars, once."""
    sys.path.insert(0, str(REPOSITORY))  # mkdocs runs elsewhere
    from change_tables.server.jars import resolve_jars

    folder = REPOSITORY / ".build" / "mermaid"
    without = ",".join(f"org.webjars.npm:{name}" for name in _NOT_IN_THE_SCRIPT.split())
    resolve_jars(folder, (f"org.webjars.npm:mermaid:{version}",), without=without, all_of_them=True)
    (jar,) = folder.glob("mermaid-*.jar")
    with zipfile.ZipFile(jar) as opened:
        return opened.read(f"META-INF/resources/webjars/mermaid/{version}/dist/mermaid.min.js")
