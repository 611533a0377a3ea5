"""What bench/items runs: a PostgreSQL cluster, daemons with a configuration of
tasks, a server that is slow, the files of items and pages.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import bench

LINES_AT_ONCE = 10000


class Over(Exception):
    """A daemon or a load did not come to its end."""


# ---- Stores and daemons ------------------------------------------------------

PG_SCRIPT = """
finish() { :; }
soon() { for _ in $(seq 100); do "$@" && return; sleep 0.1; done; return 1; }
. "$1/tests/scenes/postgresql.bash" >&2
postgresql >&2 || exit
echo "$PG"
head -n 1 "$PG/data/postmaster.pid"
read -r _
"""


class Postgresql:
    """A cluster of the bench's own, by the scenes' script; `host` is None
    where PostgreSQL is missing."""

    def __init__(self):
        self.child = bench.start_with_input(["bash", "-c", PG_SCRIPT, "pg",
                                             bench.ROOT])
        line = self.child.stdout.readline().strip()
        self.host = line if line.startswith("/") else None
        self.pid = int(self.child.stdout.readline()) if self.host else None
        self.made = 0
        self.name = None

    def fresh(self):
        """The name of an empty database, instead of the one before."""
        if self.name:
            self.run("dropdb", self.name)
        self.made += 1
        self.name = f"bench{self.made}"
        self.run("createdb", self.name)
        return self.name

    def run(self, *command):
        return subprocess.run(
            [command[0], "-h", self.host, "-U", "argiope", *command[1:]],
            check=True, capture_output=True, text=True).stdout

    def url(self):
        """An empty database."""
        return (f"postgresql:///{self.fresh()}?host={self.host}"
                "&user=argiope")

    def cpu(self):
        return bench.family_cpu(self.pid)

    def mb_on_disk(self):
        """Of the last database, its log not included."""
        return int(self.run("psql", "-Atc", "SELECT pg_database_size("
                            f"'{self.name}')", self.name)) / 1e6

    def end(self):
        """The script ends the server when its input ends."""
        self.child.stdin.close()
        self.child.wait(60)


class Daemon:
    """argiope serve with a configuration of tasks."""

    def __init__(self, name, config, *settings):
        self.data = bench.fresh(f"items-{name}")
        self.log = os.path.join(bench.work_folder(), f"items-{name}.log")
        self.config = os.path.join(self.data, "config.js")
        self.write_config(config)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        command = [bench.program(), "serve", "--data",
                   os.path.join(self.data, "data")]
        for s in (f"http.listen=127.0.0.1:{self.port}",
                  "urlfrontier.listen=off",
                  f"items.config={self.config}") + settings:
            command += ["--set", s]
        with open(self.log, "w") as log:
            self.child = bench.start(command, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while True:
            try:
                if self.ask("GET", "/tasks")["tasks"]:
                    return
            except (OSError, Over, ValueError):
                pass
            if self.child.poll() is not None or time.monotonic() > until:
                raise Over(f"no start; see {self.log}")
            time.sleep(0.02)

    def write_config(self, text):
        with open(self.config, "w") as f:
            f.write(text)

    def ask(self, method, path, body=None, kind="application/json"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            c.request(method, path, body, {"Content-Type": kind})
            r = c.getresponse()
            text = r.read()
        finally:
            c.close()
        if r.status >= 300:
            raise Over(f"{method} {path}: {r.status} {text[:300]}")
        return json.loads(text)

    def add(self, path):
        """Import a file of NDJSON; the seconds it took."""
        began = time.monotonic()
        with open(path, "rb") as f:
            size = str(os.fstat(f.fileno()).st_size)
            c = http.client.HTTPConnection("127.0.0.1", self.port,
                                           timeout=600)
            c.request("POST", "/items/add", f, {
                "Content-Type": "application/x-ndjson",
                "Content-Length": size})
            answer = json.load(c.getresponse())
            c.close()
        if answer.get("errors") or answer.get("new") != answer.get("lines"):
            raise Over(f"the import: {json.dumps(answer)[:300]}")
        return time.monotonic() - began

    def counts(self):
        return self.ask("GET", "/tasks/a")["counts"]

    def cpu(self):
        return bench.family_cpu(self.child.pid)

    def peak_mb(self):
        with open(f"/proc/{self.child.pid}/status") as f:
            return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1]) / 1024

    def mb_on_disk(self):
        return bench.disk_bytes(self.data) / 1e6

    def stop(self):
        bench.end(self.child, 30)
        shutil.rmtree(self.data, ignore_errors=True)


REMOTE = """export default { tags: { t: ["a"] },
  tasks: { a: { version: "1", ttl: "30d", remote: true } } };
"""
# Its first task's version; the second one's pairs come again at once.
BUMP = """export default { tags: { t: ["a"], u: ["b"] },
  tasks: { a: { version: "%d", ttl: "30d", remote: true },
           b: { version: "1", ttl: "1s", remote: true } } };
"""
FIELDS = """export default { tags: { t: ["a"] },
  fetch: { policy: { rate_limit: 0, robots: "ignore", downloads: 64 },
           private: %s },
  tasks: { a: { version: "1", ttl: "30d", async run({ data, fetch,
      updateData }) {
    const $ = (await fetch(data.url)).html();
    updateData(old => ({ ...old, %s }));
  } } } };
"""
TEN = ", ".join(f'{name}: $("{css}").{end}' for name, css, end in (
    ("title", "h1", "text()"), ("sku", "[itemprop=sku]", "text()"),
    ("price", ".price", "text()"), ("stock", "p.stock", 'attr("data-count")'),
    ("brand", "a.brand", "text()"), ("image", "img.main", 'attr("src")'),
    ("category", "nav li:last-child a", "text()"),
    ("features", "ul.features li", "length"),
    ("description", "#description p", "text()"),
    ("rating", "span.rating", 'attr("title")')))


def write_items(path, n, url="https://shop.example/p{}", tag="t",
                prefix="shop"):
    with open(path, "w") as f:
        for at in range(0, n, LINES_AT_ONCE):
            f.write("".join(
                f'{{"id":"{prefix}:{i:08d}","tags":["{tag}"],'
                f'"data":{{"url":"{url.format(i)}"}}}}\n'
                for i in range(at, min(n, at + LINES_AT_ONCE))))
    return path


def product_page(i, size):
    head = (f'<!DOCTYPE html><meta charset="utf-8"><title>Product {i}</title>'
            f'<nav><ul><li><a href="/">Home</a><li><a href="/c{i % 50}">'
            f'Category {i % 50}</a></ul></nav><h1>Product {i}</h1>'
            f'<b itemprop="sku">SKU{i}</b><span class="price">{i % 90}.95'
            f'</span><p class="stock" data-count="{i % 17}">in stock</p>'
            f'<a class="brand" href="/b">Brand {i % 9}</a><img class="main" '
            f'src="/i/{i}.png"><ul class="features"><li>light<li>durable</ul>'
            f'<span class="rating" title="{i % 5}">*</span>'
            f'<div id="description"><p>It is number {i}.</p></div><table>')
    row = (f'<tr class="row"><td class="name"><a href="/p/{i}" title="More">'
           f'Part</a></td><td>{i}</td><td><i>in stock</i></td></tr>\n')
    return head + row * ((size - len(head)) // len(row))


class SlowServer:
    """Answers each request after 200 ms, on so many addresses."""

    CODE = """
import asyncio, sys
async def answer(reader, writer):
    try:
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            await asyncio.sleep(0.2)
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n"
                         b"Content-Length: 13\\r\\n\\r\\n<h1>Slow</h1>")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main(hosts):
    port = 0
    for i in range(hosts):
        s = await asyncio.start_server(answer, f"127.2.0.{1 + i}", port)
        port = s.sockets[0].getsockname()[1]
    print(port, flush=True)
    await asyncio.sleep(600)
asyncio.run(main(int(sys.argv[1])))
"""

    def __init__(self, hosts):
        self.child = bench.start([sys.executable, "-c", self.CODE, str(hosts)],
                                 stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline())

    def end(self):
        bench.end(self.child)
        self.child.stdout.close()
