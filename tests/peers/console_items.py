"""The console's views of items, in a real browser: the shop of examples/shop is
scraped, its parser broken, repaired and run again; then items, tags and
messages that are hostile, and tokens that may read, or may not.

CONSOLE_SHOTS=FOLDER keeps the screenshots.
"""
import urllib.error
import urllib.parse
import urllib.request

from console_server import *

PRODUCTS = 60
SHOP = os.path.join(SOURCE, "examples", "shop")

browser = Browser("console_items")
need("console_items", "nginx")
site = Site()
port = free_port()
shop = start([os.path.join(SHOP, "serve"), str(PRODUCTS), str(port)],
             stdout=subprocess.DEVNULL)


def listens():
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


check("the shop is open", wait_until(listens, 60))


class Files:
    """A copy of the example, whose parser can be broken and repaired."""

    def __init__(self):
        os.makedirs("shop")
        self.config = os.path.join(PLACE, "shop", "shop.js")
        self.write("shop.js", self.read("shop.js").replace("8077", str(port)))
        self.write("parse.js", self.read("parse.js"))

    @staticmethod
    def read(name):
        with open(os.path.join(SHOP, name)) as f:
            return f.read()

    @staticmethod
    def write(name, text):
        with open(os.path.join("shop", name), "w") as f:
            f.write(text)

    def breaks(self):
        """The parser looks for what is not there, in a new version."""
        old = '$("h1").text().trim()'
        text = self.read("parse.js")
        assert old in text
        self.write("parse.js", text.replace(
            old, '$("h2").text().match(/Product (.*)/)[1]'))
        text = self.read("shop.js").replace("8077", str(port))
        at = text.index("scrape: {")
        self.write("shop.js", text[:at] + text[at:].replace(
            'version: "1"', 'version: "2"', 1).replace(
            "const product =",
            'console.log("reading", data.url);\n        const product =', 1))
        return "broken"

    def spoils(self):
        self.write("parse.js", self.read("parse.js") + "x {\n")
        return "spoilt"

    def mends(self):
        self.write("parse.js", self.read("parse.js"))
        return "mended"


def ask(server, method, path, body=None):
    r = urllib.request.Request(
        server.url + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=30) as a:
        return json.loads(a.read())


def task(server, name):
    """None while the server starts, or has no such task yet."""
    try:
        return ask(server, "GET", "/tasks/" + urllib.parse.quote(name, ""))
    except urllib.error.HTTPError:
        return None


files = Files()
server = Server(site, "data", more=["--set", "items.config=" + files.config])
check("the shop is scraped", wait_until(
    lambda: (task(server, "summary") or {"counts": {"fresh": 0}})["counts"][
        "fresh"] == PRODUCTS, 180))


def changes():
    """Another client changes an item that is being edited."""
    ask(server, "POST", "/items/shop:p0007", {"data": {"else": "where"}})
    return "changed"


def makes_other():
    ask(server, "POST", "/items/made:other", {"data": {"else": 1}})
    return "made"


def runs_again():
    """A task has run again on an item, which keeps its last run only."""
    price = "/items/shop:p0003/operations/price/"

    def last():
        return ask(server, "GET", price + "runs")["runs"][0]["run"]
    old = last()
    ask(server, "POST", price + "expire", {"now": True})
    return wait_until(lambda: last() != old, 30)


browser.drive("shop", server, {"change": changes, "other": makes_other,
              "again": runs_again}, products=PRODUCTS)
browser.drive("repair", server, {"break": files.breaks,
              "spoil": files.spoils, "mend": files.mends}, products=PRODUCTS)
same("the repaired parser's results are there",
     ask(server, "GET", "/items/shop:p0003")["data"]["title"], "Product 0003")


# ---- What is hostile ----------------------------------------------------------

def add(id, tags=(), data=None):
    return ask(server, "POST", "/items/add", {
        "id": id, "tags": list(tags), "data": data or {}})


MARKUP = "<img src=x onerror='window.hurt=1'>"
LONG = "long:" + "€" * 339 + "ab"
assert len(LONG.encode()) == 1024
HOSTILE = """
export default {
  tags: { "hostile": ["evil<b>x</b>"], "shout": ["shout"] },
  tasks: {
    "evil<b>x</b>": { version: "1</span>", maxOutstandingFailures: 2,
      run({ id }) {
        console.log("<script>window.hurt=1</script>\\u202e", id);
        throw new Error("<img src=x onerror='window.hurt=1'> \\u202eabc");
      } },
    "shout": { version: "1", dependsOn: ["evil<b>x</b>"], run() {} }
  }
};
"""
server.stop()
with open("hostile.js", "w") as f:
    f.write(HOSTILE)
server = Server(site, "hostile", more=["--set", "items.config=" +
                                       os.path.join(PLACE, "hostile.js")])
wait_until(lambda: task(server, "shout"), 60)
add(LONG, ["hostile", "shout", MARKUP], {"\u202e": "\u0001\u0085\u2028", "n":
    MARKUP, "__proto__": {"polluted": True}, "wide": "w" * 5000})
for id in ("a/b", "..%2F..", "add", MARKUP, "x?y#z", "50%"):
    add(id, ["hostile"], {"was": id})
add("..")
blob = urllib.request.Request(
    server.url + "/items/50%25/blobs/" + urllib.parse.quote(MARKUP, ""),
    method="PUT", data=b"<script>window.hurt=1</script>",
    headers={"Content-Type": "text/html"})
with urllib.request.urlopen(blob, timeout=30) as a:
    same("a blob is kept", a.status, 201)
check("the hostile task is tripped", wait_until(
    lambda: task(server, "evil<b>x</b>")["tripped"], 120))
browser.drive("hostile", server, long=LONG, markup=MARKUP)


# ---- Tokens -------------------------------------------------------------------

def token(name, scope):
    code, out, err = ours("token", "add", name, "--scope", scope, "--data",
                          server.data)
    check(f"a token of scope {scope}", code == 0, err)
    return out.strip()


reader = token("reader", "console:read,realtime:read,items:read")
stranger = token("stranger", "console:read,realtime:read")
browser.drive("token", server, reader=reader, stranger=stranger)
server.stop()
check("the server ended by itself", server.child.returncode == 0,
      server.child.returncode)
end(shop)
done()
