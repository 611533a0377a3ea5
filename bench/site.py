#!/usr/bin/env python3
"""The synthetic site: small HTML pages, all reachable from /index.html.

    site.py FOLDER [--pages 20000] [--bytes 6000] [--links 20] [--seed 1]

Page i is /d<i/200>/p<i>.html.  It links to its four children in a tree (4i+1 to
4i+4), to its parent, and to pages drawn by lot until there are --links; every
other link is relative.  So all is reachable, no page is deeper than the tree,
and nearly every link leads to a page that is already known, as on real sites.

The same options give the same bytes.  urls.txt beside FOLDER lists the paths,
index.html first.  A folder that was made by the same options stays as it is.
"""
import argparse
import json
import os
import random

WORDS = ("archive body budget canonical capture connection cookie crawl depth "
         "digest door frontier header hop host journal lease ledger link memory "
         "orb page parse policy queue record robots scope seed sequence silk "
         "sitemap spider store thread web write").split()
PER_FOLDER = 200


def path_of(i):
    return f"/d{i // PER_FOLDER}/p{i}.html"


def targets_of(i, pages, links, lot):
    """Where page i leads to: children, parent, then by lot."""
    found = [c for c in range(4 * i + 1, 4 * i + 5) if c < pages]
    if i > 0:
        found.append((i - 1) // 4)
    while len(found) < links:
        found.append(lot.randrange(pages))
    lot.shuffle(found)
    return found


def words_of(n, lot):
    """About n bytes of text."""
    text, size = [], 0
    while size < n:
        word = WORDS[int(lot.random() * len(WORDS))]
        text.append(word)
        size += len(word) + 1
    return " ".join(text)


def page_of(i, options, lot):
    targets = targets_of(i, options.pages, options.links, lot)
    share = max(1, (options.bytes - 180) // max(1, len(targets)) - 48)
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">'
             f"<title>Page {i}</title></head>", "<body>", f"<h1>Page {i}</h1>"]
    for k, target in enumerate(targets):
        href = path_of(target) if k % 2 == 0 else ".." + path_of(target)
        lines.append(f'<p><a href="{href}">page {target}</a> '
                     f"{words_of(share, lot)}</p>")
    lines.append("</body></html>\n")
    return "\n".join(lines)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def make(options):
    lot = random.Random(options.seed)
    for folder in range((options.pages - 1) // PER_FOLDER + 1):
        os.makedirs(f"{options.folder}/d{folder}", exist_ok=True)
    for i in range(options.pages):
        write(options.folder + path_of(i), page_of(i, options, lot))
    write(f"{options.folder}/index.html",
          "<!DOCTYPE html>\n<title>The synthetic site</title>\n"
          f'<p><a href="{path_of(0)}">Begin</a></p>\n')
    write(f"{options.folder}/robots.txt", "User-agent: *\nAllow: /\n")
    paths = ["/index.html"] + [path_of(i) for i in range(options.pages)]
    write(os.path.join(os.path.dirname(os.path.abspath(options.folder)),
                       "urls.txt"), "\n".join(paths) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    for name, value in (("pages", 20000), ("bytes", 6000), ("links", 20),
                        ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N")
    options = parser.parse_args()
    mark = os.path.join(options.folder, ".made")
    want = json.dumps([1, options.pages, options.bytes, options.links,
                       options.seed])
    if not os.path.exists(mark) or open(mark).read() != want:
        os.makedirs(options.folder, exist_ok=True)
        make(options)
        write(mark, want)


if __name__ == "__main__":
    main()
