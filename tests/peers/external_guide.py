"""The commands of docs/external.md, in order, in a fresh directory; target-jsonl
is that of PyPI.
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

from peer import PLACE, SOURCE, check, done, fixed_port, program, same
from simulated import run_with

run_with(__file__, "target-jsonl==0.1.4")

# Those of the page, and the ones that are free here.
PORTS = {old: str(fixed_port())
         for old in ("8001", "8766", "3333", "3334", "4444")}
HOME = os.path.join(PLACE, "page")
os.makedirs(HOME + "/bin")
os.symlink(program(), HOME + "/bin/argiope")
os.symlink(SOURCE + "/examples", HOME + "/examples")
with open(HOME + "/bin/target-jsonl", "w") as f:
    f.write(f"#!/bin/sh\nexec {sys.executable} -c "
            "'import target_jsonl; target_jsonl.main()' \"$@\"\n")
os.chmod(HOME + "/bin/target-jsonl", 0o755)
ENV = dict(os.environ, HOME=HOME, PYTHONUNBUFFERED="1", PATH=":".join((
    HOME + "/bin", os.environ["PATH"])))
groups = []


def ported(text):
    return re.sub(r"\b(%s)\b" % "|".join(PORTS), lambda m: PORTS[m[0]], text)


def run(block):
    """What it printed; a server that it has started goes on."""
    with open(HOME + "/said", "w+") as said:
        shell = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", block],
                                 cwd=HOME, env=ENV, stdin=subprocess.DEVNULL,
                                 stdout=said, stderr=said,
                                 start_new_session=True)
        groups.append(shell.pid)
        code = shell.wait(60)
        said.seek(0)
        text = said.read()
    check("page: " + " ".join(block.split())[:70], code == 0, text)
    return text


def documents(name):
    with open(os.path.join(HOME, name)) as f:
        return [m["record"] for m in map(json.loads, f)
                if m["type"] == "RECORD"]


with open(os.path.join(SOURCE, "docs", "external.md")) as f:
    page = f.read()
blocks = re.findall(r"```(sh|)\n(.*?)```", page, re.S)
check("page: it has commands", len([k for k, _ in blocks if k]) >= 4, blocks)
said = ""
try:
    for kind, block in blocks:
        block = ported(block)
        if kind == "":
            for line in block.splitlines():
                check(f"page: it shows {line}", line in said, said)
            continue
        if "server.py" in block:
            block = block.replace("server.py", "server.py --port " +
                                  PORTS["8766"])
        said = run(block)
        if "external new" in block:
            written = HOME + "/books.js" + ("" if "--script" in block else
                                            "on")
            with open(written) as f:
                file = ported(f.read())
            with open(written, "w") as f:
                f.write(file)
        if "/run" in block:
            until = time.monotonic() + 20
            fid = re.search(r'"fid":"([^"]+)"', said).group(1)
            url = f"http://127.0.0.1:{PORTS['3333']}/output/{fid}"
            lines = []
            while len(lines) < 20 and time.monotonic() < until:
                lines = [x for x in run(f"curl -s {url}").splitlines() if x]
            same("page: the crawler's documents are at the back end",
                 len(lines), 20)
    first, second = documents("books.messages"), documents("more.messages")
    check("page: the tap reads books", len(first) > 2, first)
    check("page: and then only what is new", len(second) < len(first) and
          all(b in first for b in second), second)
    kept = []
    for name in glob.glob(HOME + "/books-*.jsonl"):
        with open(name) as f:
            kept += map(json.loads, f)
    same("page: the target has them", kept, first)
finally:
    for group in groups:
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            pass
done()
