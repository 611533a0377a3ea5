#!/usr/bin/env python3
"""source_archive.py -- gets one source archive from a package registry.

    source_archive.py pypi|crates PACKAGE VERSION SHA-256 FILE

The registry is the one that pip or cargo is configured with.  The archive is
written to FILE only when its checksum is right; otherwise the exit code is 1,
one line says why, and nothing is left behind.
"""
import ast
import functools
import glob
import hashlib
import html
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

TRIES = 3
SECONDS_MAX = 120


class Failure(Exception):
    """The archive cannot be had; the text says why."""


@functools.lru_cache
def pip_config():
    """What pip's files say: {"global.cert": value, ...}."""
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return {name: ast.literal_eval(value) for name, value in re.findall(
        r"^([\w.-]+)=('.*'|\".*\")$", answer.stdout, re.M)}


def pip_value(name):
    """A value of pip's configuration, or nothing."""
    from_env = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    return from_env or pip_config().get("global." + name, "")


def pip_index():
    """The index that pip would ask, with a slash at its end."""
    index = pip_value("index-url")
    if not index:
        try:
            from pip._internal.models.index import PyPI
        except ImportError:
            raise Failure("pip is not installed") from None
        index = PyPI.simple_url
    return index.rstrip("/") + "/"


def get(url, accept="*/*"):
    """The body at `url`; its tries are counted."""
    context = ssl.create_default_context(cafile=pip_value("cert") or None)
    request = urllib.request.Request(url, headers={"Accept": accept})
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=SECONDS_MAX,
                                        context=context) as answer:
                return answer.read()
        except OSError as error:
            code = getattr(error, "code", 0)
            if left == 0 or 400 <= code < 500:
                raise Failure(f"the registry answers: {error}") from None
    raise AssertionError


def listed_files(page, base):
    """(name, URL) of each file on a project's page (PEP 503, PEP 691)."""
    text = page.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        for entry in json.loads(text)["files"]:
            yield entry["filename"], urllib.parse.urljoin(base, entry["url"])
        return
    for link, name in re.findall(r'<a[^>]*href="([^"]+)"[^>]*>([^<]+)</a>',
                                 text):
        yield name.strip(), urllib.parse.urljoin(base, html.unescape(link))


def from_pypi(package, version):
    base = pip_index() + package + "/"
    page = get(base, "application/vnd.pypi.simple.v1+json, text/html;q=0.5")
    names = {f"{p}-{version}.tar.gz"
             for p in (package, package.replace("-", "_"))}
    for name, url in listed_files(page, base):
        if name in names:
            return get(url.split("#")[0])
    raise Failure("the registry has no source distribution of that version")


def from_crates(package, version):
    """cargo fetches it into a home of its own, which goes afterwards."""
    if shutil.which("cargo") is None:
        raise Failure("cargo is not installed")
    home = os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")
    with tempfile.TemporaryDirectory() as scratch:
        os.makedirs(f"{scratch}/home")
        os.makedirs(f"{scratch}/src")
        for config in glob.glob(f"{home}/config*"):
            shutil.copy(config, f"{scratch}/home")
        with open(f"{scratch}/Cargo.toml", "w", encoding="utf-8") as f:
            f.write('[package]\nname = "none"\nversion = "0.0.0"\n'
                    'edition = "2021"\n[dependencies]\n'
                    f'{package} = "={version}"\n')
        open(f"{scratch}/src/lib.rs", "w", encoding="utf-8").close()
        ran = subprocess.run(
            ["cargo", "fetch", "--quiet"], cwd=scratch, text=True,
            env=dict(os.environ, CARGO_HOME=f"{scratch}/home"),
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            timeout=SECONDS_MAX)
        found = glob.glob(f"{scratch}/home/registry/cache/*/"
                          f"{package}-{version}.crate")
        if not found:
            lines = ran.stderr.strip().splitlines() or ["nothing fetched"]
            raise Failure(f"cargo: {lines[0]}")
        with open(found[0], "rb") as f:
            return f.read()


REGISTRIES = {"pypi": from_pypi, "crates": from_crates}


def main(words):
    if len(words) != 5 or words[0] not in REGISTRIES:
        sys.stderr.write(__doc__)
        return 64
    kind, package, version, wanted, path = words
    try:
        archive = REGISTRIES[kind](package, version)
        found = hashlib.sha256(archive).hexdigest()
        if found != wanted:
            raise Failure(f"its SHA-256 is {found}, not {wanted}")
    except (Failure, OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"deps: {kind} {package} {version}: {error}", file=sys.stderr)
        return 1
    with open(path + ".part", "wb") as f:
        f.write(archive)
    os.replace(path + ".part", path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
