"""Tasks in JavaScript against a real daemon: the commands of docs/tasks.md in
order, the verbs of `argiope task`, SIGTERM while runs are under way, and a crawl
of 500 products whose daemon is killed five times.
"""
import http.server
import re

from serve import *

need("shop", "nginx")

PRODUCTS, DELAY_S, KILLS = 500, 0.02, 5


class Shop(Serve):
    """A daemon that runs the tasks of a configuration."""

    def __init__(self, name, config):
        super().__init__(name, ["urlfrontier.listen=",
                                "items.config=" + config])
        check(f"{name}: the configuration is in force", wait_until(
            lambda: self.ask("/items-config").get("generation"), 20),
            self.said())

    def ask(self, path):
        return json.loads(self.http(path)[2])

    def counts(self):
        """{task: its counts}"""
        return {t["task"]: t["counts"] for t in self.ask("/tasks")["tasks"]}

    def are_fresh(self, n, *tasks, seconds=30):
        """So many results of each task, and nothing else."""
        def all_fresh():
            counts = self.counts()
            return all(counts[t]["fresh"] == n == sum(counts[t].values())
                       for t in tasks)
        return wait_until(all_fresh, seconds)

    def argiope(self, *words):
        return ours(*words, "--data", self.data)


def items_are_sound(name, data):
    code, out, err = ours("items", "check", "--data", data)
    check(f"{name}: items check finds nothing", code == 0, out + err)


# ---- The page for users ------------------------------------------------------------

def blocks():
    with open(os.path.join(SOURCE, "docs", "tasks.md")) as f:
        return re.findall(r"```sh\n(.*?)```", f.read(), re.S)


def prepare(port):
    """The copy that the page's first command makes, at another port."""
    path = os.path.join(PLACE, "myshop", "shop.js")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("8077", str(port)))


def page():
    port = fixed_port()
    out, server = "", None
    os.makedirs("bin")
    os.symlink(program(), "bin/argiope")
    env = dict(os.environ, PATH=PLACE + "/bin:" + os.environ["PATH"])
    for block in blocks():
        title = "page: " + " ".join(block.split())[:60]
        if block.startswith("examples/shop/serve"):
            start([SOURCE + "/examples/shop/serve", "200", str(port)],
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            check(title, wait_until(lambda: listens(port)))
            continue
        if block.startswith("argiope serve"):
            prepare(port)
            server = Shop("shop-data", "myshop/shop.js")
            check(title, server.are_fresh(200, "scrape", "price", "summary"),
                  server.counts())
            continue
        if "failures --group" in block or "failures scrape" in block:
            wait_until(lambda: server.counts()["scrape"]["failed"] == 10, 20)
        if block.startswith("argiope task pause"):
            check("page: handled failures run again", server.are_fresh(
                200, "scrape", "price", "summary"), server.counts())
        ran = subprocess.run(["sh", "-e", "-c", block.replace(
            "examples/", SOURCE + "/examples/")], timeout=60, env=env,
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(title, ran.returncode == 0, ran.stdout + ran.stderr)
        out += ran.stdout
        if "task reload" in block:
            wait_until(lambda: server.ask("/items-config")["rewriting"]
                       is None, 10)
        if block.startswith("mv new.js"):
            check("page: a new version runs again", server.are_fresh(
                200, "scrape"), server.counts())
    for text in ('"title": "Product 0001"', "  + /letters  12",
                 "fetched http://127.0.0.1:%d/products/p0001  200" % port,
                 "nothing was stored",
                 "10      ReferenceError: readProdukt is not defined",
                 "ok: same: 200; different: 0;",
                 "requeued 10"):
        check(f"page: it shows {text}", text in out, out[-900:])
    check("page: colours are for terminals", "\033" not in out)
    return server


def moved():
    """The spider of docs/moving.md, and the table that it makes."""
    with open(os.path.join(SOURCE, "docs", "moving.md")) as f:
        page_ = f.read()
    port = fixed_port()
    start([SOURCE + "/examples/shop/serve", "60", str(port)],
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check("moved: its shop", wait_until(lambda: listens(port)))
    with open("moved.js", "w") as f:
        f.write(re.search(r"```js\n(.*?)```", page_, re.S)[1].replace(
            "8077", str(port)))
    s = Shop("moved-data", "moved.js")
    check("moved: all is read", s.are_fresh(60, "read"), s.counts())
    command = re.search(r"^argiope (items export .*)$", page_, re.M)[1]
    code, out, err = ours(*command.split())
    lines = [line.rstrip("\r") for line in out.splitlines()]
    # Of the two categories either may be read first.
    check("moved: the table", code == 0 and len(lines) == 61 and
          lines[0] == "url,title,sku,stock" and
          min(lines[1:]) == f"http://127.0.0.1:{port}/products/p0000,"
          "Product 0000,SKU0000,0", (out[:300], err))
    same("moved: in order at the end", s.stop(30), 0)


# ---- argiope task ----------------------------------------------------------------

def verbs(s):
    code, out, err = s.argiope("task", "list")
    same("verbs: list", (code, len(out.splitlines())), (0, 5))
    check("verbs: list has the counts", re.search(
        r"^scrape +2 +\w+ .* 200 +\d+ +[\d.]+ +\d+$", out, re.M), out)
    code, out, err = s.argiope("task", "list", "--json")
    same("verbs: list --json", {t["task"] for t in json.loads(out)["tasks"]},
         {"find", "scrape", "price", "summary"})
    code, out, err = s.argiope("task", "pause", "s*")
    same("verbs: pause takes a pattern", re.findall(
        r"^(\w+) .* paused ", out, re.M), ["scrape", "summary"])
    s.argiope("task", "expire", "scrape", "--prefix", "shop:p0000")
    same("verbs: paused", s.counts()["scrape"]["stale"], 1)
    s.argiope("task", "resume", "s*")
    check("verbs: resumed", s.are_fresh(200, "scrape"), s.counts())
    simulate(s)
    for words in (["pause", "nothing"], ["simulate", "scrape", "nobody"]):
        code, out, err = s.argiope("task", *words)
        same(f"verbs: {' '.join(words)}", code, 66)
    code, out, err = ours("task", "list", "--data", PLACE + "/nowhere")
    same("verbs: without a daemon", code, 69)
    check("verbs: without a daemon, the folder is named",
          "no daemon serves " + PLACE + "/nowhere" in err, err)
    code, out, err = ours("task", "types")
    with open(os.path.join(SOURCE, "script", "argiope.d.ts")) as f:
        same("verbs: types", (code, out), (0, f.read()))


def simulate(s):
    with open("bad.js", "w") as f:
        f.write("export default { tags: {}, tasks: {\n  scrape: {\n"
                "    run() { throw new Error('no\\u001b[2Jgood'); } } } };\n")
    before = s.http("/items/shop%3Ap0001")[2]
    code, out, err = s.argiope("task", "simulate", "scrape", "shop:p0001",
                               "--module", "bad.js")
    same("simulate: a failed run", code, 1)
    for text in ("failed (permanent, error): Error: no\\x1b[2Jgood",
                 "at run (shop.js:3:", ">    3      run() { throw"):
        check(f"simulate: it shows {text}", text in out, out)
    check("simulate: nothing moves the cursor", "\033" not in out)
    code, out, err = s.argiope("task", "simulate", "scrape", "shop:p0001",
                               "--module", "bad.js", "--json")
    same("simulate: --json", (code, json.loads(out)["ok"]), (1, False))
    code, out, err = s.argiope("task", "simulate", "scrape", "shop:p0001",
                               "--module", "none.js")
    check("simulate: no such file", code not in (0, 1) and "none.js" in err,
          (code, err))
    same("simulate: the item is as before", s.http("/items/shop%3Ap0001")[2],
         before)
    watch(s)
    with open("myshop/shop.js") as f:
        text = f.read()
    with open("myshop/shop.js", "w") as f:
        f.write("export default { tags: { a: ['x'] }, tasks: {}, y: 1 };")
    code, out, err = s.argiope("task", "reload")
    same("reload: a faulty configuration", code, 65)
    check("reload: all its faults", 'there is no task "x"' in err and
          "y: there is no such key" in err, err)
    with open("myshop/shop.js", "w") as f:
        f.write(text)
    same("reload: it is mended", s.argiope("task", "reload")[0], 0)


def watch(s):
    """bad.js fails, is changed, and does it no more."""
    words = ["task", "simulate", "scrape", "shop:p0001", "--watch", "--data",
             s.data]
    with open("watch.out", "w") as f:
        child = start([program(), *words, "--module", "bad.js"], stdout=f,
                      stderr=f)

    def said():
        with open("watch.out") as f:
            return f.read()

    check("watch: a failed run", wait_until(
        lambda: "failed (permanent, error)" in said()), said())
    with open("bad.js", "w") as f:
        f.write("export default { tags: {}, tasks: { scrape: { run() {} } } "
                "};")
    check("watch: the changed file is tried", wait_until(
        lambda: "ok: mutations: 0" in said()), said())
    child.send_signal(signal.SIGINT)
    same("watch: Ctrl-C, after a run that has not failed", child.wait(10), 0)
    code, out, err = ours(*words)
    check("watch: it wants a file", code == 64 and "--module" in err, err)


# ---- Ends --------------------------------------------------------------------------

class SlowShop(http.server.BaseHTTPRequestHandler):
    """The shop again, with a delay for each product."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        n = self.path[-4:]
        status, fields = 200, {"Content-Type": "text/html"}
        text = f"<h1>Product {n}</h1>"
        if self.path == "/":
            text = "".join(f'<a class="product" href="/products/p{i:04}">x'
                           "</a>" for i in range(PRODUCTS))
        elif self.path.startswith("/products/"):
            time.sleep(DELAY_S)
            text += f'<b itemprop=sku>{n}</b><p class=stock data-count=3>'
        elif self.path.startswith("/members/"):
            time.sleep(DELAY_S)
            text += "<p class=price>$5.95</p>"
        elif self.path.startswith("/login"):
            fields["Set-Cookie"] = "member=yes; Path=/"
        else:
            status = 404
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


class Site(http.server.ThreadingHTTPServer):
    """Clients that are killed are expected."""

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


def done_so_far(s):
    return sum(c["fresh"] for c in s.counts().values())


def ends():
    site = Site(("127.0.0.1", 0), SlowShop)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    shutil.copytree(SOURCE + "/examples/shop", "slow")
    with open("slow/shop.js") as f:
        text = f.read().replace("8077", str(site.server_address[1]))
    with open("slow/shop.js", "w") as f:
        f.write(text)
    s = Shop("slow-data", "slow/shop.js")
    wait_until(lambda: done_so_far(s) >= 100, 60)
    before = done_so_far(s)
    check("ends: SIGTERM while runs are under way", 100 <= before <
          3 * PRODUCTS, before)
    same("ends: in order", s.stop(30), 0)
    items_are_sound("ends", s.data)
    s.start()
    after = done_so_far(s)
    check("ends: SIGTERM loses nothing", after >= before, (before, after))
    for i in range(KILLS):
        wait_until(lambda: done_so_far(s) >= after + 100, 20)
        before = done_so_far(s)
        check(f"kill {i}: under way", after + 100 <= before < 3 * PRODUCTS,
              (after, before))
        s.restart(kill=True)
        after = done_so_far(s)
        check(f"kill {i}: no result is lost", after >= before,
              (before, after))
    check("kills: every pair is fresh", s.are_fresh(
        PRODUCTS, "scrape", "price", "summary", seconds=150), s.counts())
    same("ends: in order at the end", s.stop(30), 0)
    code, out, err = ours("items", "list", "--tag", "product", "--json",
                          "--metadata", "price", "--metadata", "summary",
                          "--data", s.data)
    found = [json.loads(line) for line in out.splitlines()]
    same("kills: every product once", sorted(i["id"] for i in found),
         [f"shop:p{n:04}" for n in range(PRODUCTS)])
    wrong = [i["id"] for i in found if (
        i["data"].get("title"), i["data"].get("stock"),
        i["metadata"]["price"].get("cents"),
        i["metadata"]["summary"].get("text")) != (
            f"Product {i['id'][-4:]}", 3, 595,
            f"Product {i['id'][-4:]}: $5.95")]
    check("kills: every product has its results", not wrong, wrong)
    items_are_sound("kills", s.data)
    archive_is_sound("kills: archive check finds nothing", s.data)
    site.shutdown()


try:
    shop = page()
    verbs(shop)
    same("page: the daemon ends in order", shop.stop(30), 0)
    code, out, err = shop.argiope("status", "--json")
    same("page: the crawl of the tasks' requests is not interrupted",
         [(c["kind"], c["state"]) for c in json.loads(out)["crawls"]],
         [("tasks", "running")])
    items_are_sound("page", shop.data)
    moved()
    ends()
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
