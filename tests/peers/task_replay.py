"""1,000 items scraped from pages of 30 KB, and 100 pages behind a login: their
runs are replayed while the site is down, a broken parser shows up as a difference,
and a fix repairs all items without a request.
"""
import http.server

from items_peer import *

need("task_replay")
N = int(os.environ.get("TASK_REPLAY_RUNS", "1000"))

FILLER = "".join(f'<div class="row r{i}"><a href="/p/{i}">Offer {i}</a>'
                 f'<span class="text">text {i} of the page</span></div>\n'
                 for i in range(320))


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        n = self.path.rsplit("/", 1)[-1]
        status, cookie = 200, None
        if self.path.startswith("/products/"):
            text = (f"<title>P{n}</title><h1>Product {n}</h1>{FILLER}"
                    f'<p class="price">{n}.50 EUR</p>')
        elif self.path.startswith("/members/"):
            member = "member=yes" in self.headers.get("Cookie", "")
            text = f"<b>{int(n) * 2 if member else 'log in'}</b>"
        elif self.path == "/login":
            text, cookie = "welcome", "member=yes; Path=/"
        else:
            status, text = 404, "no"
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


class Site(http.server.ThreadingHTTPServer):
    """`asked` is its log."""
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Page)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


CONFIG_JS = """
const SITE = "http://127.0.0.1:%(port)u";
export default {
  fetch: { policy: { robots: "ignore", rate_limit: 0 },
           private: ["127.0.0.1:%(port)u"] },
  sessions: { shop: {
    async login({ fetch, session }) {
      await fetch(SITE + "/login");
      session.data.key = "k1";
    } } },
  seeds: Array.from({ length: %(n)u }, (_, i) => ({
    id: "p" + i, tags: i %% 10 ? ["product"] : ["product", "tenth"],
    data: { n: i } })),
  tags: { product: ["scrape"], tenth: ["price"] },
  tasks: {
    scrape: { version: "1", async run({ data, fetch, updateData, log }) {
      const $ = (await fetch(SITE + "/products/" + data.n)).html();
      log("info", "rows " + $(".row").length);
      %(parser)s
    } },
    price: { version: "1", async run({ data, session, sleep,
                                       updateMetadata }) {
      const s = await session("shop");
      await sleep(5);
      const page = await s.fetch(SITE + "/members/" + data.n);
      updateMetadata(() => ({ price: page.html()("b").text(),
        key: s.data.key, chance: Math.random() }));
    } } },
};
"""
# The page's price has no currency in front of it: this one finds none.
WRONG = ('updateData(old => ({ ...old, title: $("h1").text(), price: '
         '$(".price").text().match(/EUR ([0-9.]+)/)?.[1] ?? null }));')
RIGHT = ('updateData(old => ({ ...old, title: $("h1").text(), price: '
         'parseFloat($(".price").text()) }));')
OTHER_PAGE = 'await fetch(SITE + "/products/none");' + RIGHT


class Shop(Items):
    def __init__(self, name, port):
        self.port, self.file = port, os.path.join(PLACE, name + ".js")
        self.write(WRONG)
        Serve.__init__(self, name, ["urlfrontier.listen=",
                                    "items.config=" + self.file,
                                    *database(name)])
        self.token = None

    def write(self, parser):
        with open(self.file, "w") as f:
            f.write(CONFIG_JS % {"port": self.port, "n": N,
                                 "parser": parser})

    def load(self, parser):
        self.write(parser)
        code, _, err = self.argiope("reload")
        check("the configuration is loaded", code == 0, err)

    def argiope(self, *words):
        return ours("task", *words, "--data", self.data)

    def fresh(self):
        return [t["counts"]["fresh"] for t in
                self.ask("GET", "/tasks")[1]["tasks"]]

    def prices(self):
        return [i["data"].get("price") for i in (
            json.loads(line) for line in self.ask(
                "GET", "/items?tag=product", Accept=LINES)[1].splitlines())]


def replay(s, what, want, *words, code=0):
    """Its output; `want`: counts that are not 0."""
    began = time.monotonic()
    got, out, err = s.argiope("replay", *words, "--json")
    seconds = time.monotonic() - began
    lines = [json.loads(line) for line in out.splitlines()]
    counts = lines[-1] if lines else {}
    same(f"{what}: exit code", got, code)
    same(f"{what}: counts", {k: v for k, v in counts.items()
                             if k != "ok" and v}, want)
    print(f"# {what}: {sum(want.values()) / seconds:.0f} runs/s",
          flush=True)
    return lines[:-1]


def story(site):
    s = Shop("task-replay", site.server_address[1])
    check("all runs have ended", wait_until(
        lambda: s.fresh() == [N // 10, N], 90), s.fresh())
    asked = len(site.asked)
    same("one login, one request for each run", asked,
         N + N // 10 + 1)
    same("the parser is wrong", set(s.prices()), {None})
    site.stop()

    # The recorded code, without a site.
    replay(s, "verify pages", {"same": N}, "scrape", "--verify")
    replay(s, "verify sessions", {"same": N // 10}, "price", "--verify")
    s.restart()
    # /readyz does not wait for the configuration, and a replay needs one.
    wait_until(lambda: s.ask("GET", "/items-config")[1].get("generation"), 20)
    replay(s, "verify after a restart", {"same": N // 10}, "scrape",
           "--verify", "--tag", "tenth")

    # Other code, and the site is there again: nobody asks it.
    site = Site(site.server_address[1])
    s.load(RIGHT)
    lines = replay(s, "compare", {"different": N}, "scrape")
    same("compare: each has its difference", {len(x["diff"]) for x in lines},
         {1})
    same("compare: stores nothing", set(s.prices()), {None})
    code, out, err = s.argiope("replay", "scrape", "--item", "p7")
    same("compare: exit code of a difference", code, 0)
    for text in (" p7  different", "  ~ /mutations/0/data/price  7.5",
                 "ok: same: 0; different: 1;"):
        check(f"compare: it shows {text}", text in out, out)
    replay(s, "verify with the recorded code", {"same": N}, "scrape",
           "--verify")
    at = s.ask("GET", "/items/p7/metadata?tasks=scrape")[1]
    replay(s, "apply", {"applied": N}, "scrape", "--apply")
    same("apply: every item is repaired", s.prices(),
         [i + .5 for i in range(N)])
    same("apply: results are as old as before",
         s.ask("GET", "/items/p7/metadata?tasks=scrape")[1], at)
    same("apply: nothing runs", s.fresh(), [N // 10, N])
    replay(s, "verify what was applied", {"same": N // 10}, "scrape",
           "--verify", "--tag", "tenth")

    # A regression, and pages that were never asked for.
    s.load(WRONG)
    replay(s, "a wrong parser", {"different": N // 10}, "scrape", "--tag",
           "tenth")
    s.load("throw new Error('no price');")
    lines = replay(s, "a failing parser", {"failed": 1}, "scrape", "--item",
                   "p7", code=1)
    check("a failing parser: its error", "no price" in
          lines[0]["error"]["message"], lines)
    s.load(OTHER_PAGE)
    lines = replay(s, "another page", {"missed": 1}, "scrape", "--item", "p7",
                   code=1)
    check("another page: its error", "the run has not asked for it" in
          lines[0]["error"]["message"], lines)
    run = lines[0]["run"]
    replay(s, "one run", {"missed": 1}, run, "--loose", code=1)
    replay(s, "one run, the recorded code", {"same": 1}, run, "--verify")
    same("nobody has asked the site", site.asked, [])

    for words, want in ((["none"], 66), (["R999999"], 66),
                        ([run, "--tag", "tenth"], 65),
                        (["scrape", "--verify", "--apply"], 65),
                        (["scrape", "--since", "now"], 65)):
        same(f"replay {' '.join(words)}", s.argiope("replay", *words)[0],
             want)
    same("the daemon ends in order", s.stop(30), 0)
    site.stop()


try:
    story(Site())
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
