"""The commands of docs/items.md, in order, in a clone of the repository: a shop is
scraped, its parser breaks, is mended, replay repairs all items without a request,
and a case of a run finds the slip.
"""
import re

from serve import *

need("items_page", "nginx", "git", "ninja")
with open(os.path.join(SOURCE, "docs", "items.md")) as page:
    BLOCKS = re.findall(r"```(sh|)\n(.*?)```", page.read(), re.S)
CLONE = os.path.join(PLACE, "clone")
SHOP_OUT = os.path.join(PLACE, "shop.out")
PRODUCTS = 200


def clone():
    """A clone with what is being worked on."""
    made = subprocess.run(["git", "clone", "-q", SOURCE, CLONE],
                          capture_output=True, text=True)
    if made.returncode != 0:
        note("no clone: " + made.stderr.strip())
        os.makedirs(CLONE)
    for name in ("examples", "tools"):
        shutil.copytree(f"{SOURCE}/{name}", f"{CLONE}/{name}",
                        dirs_exist_ok=True)
    shutil.copy(SOURCE + "/run", CLONE)


def build():
    """A build folder for ./run, in which ninja finds nothing to do: the program
    is the one that is tested."""
    place = os.path.join(CLONE, "build")
    os.makedirs(place + "/daemon")
    os.symlink(program(), place + "/daemon/argiope")
    with open(place + "/build.ninja", "w") as f:
        f.write("build daemon/argiope: phony\n")
    # What ./run would find out of date otherwise.
    with open(place + "/.deps", "w") as f:
        subprocess.run(["bash", "-c", 'printf "%s %s\\n" "$(cat "$('
                        'tools/deps.sh --prefix)/stamp")" "$(echo '
                        '*/meson.build */*/meson.build)"'],
                       cwd=CLONE, stdout=f, check=True)
    os.environ["ARGIOPE_BUILD"] = place


class Page(Serve):
    """The daemon of the page, at a port of its own."""

    def __init__(self, command):
        words = command.split()
        data = words[words.index("--data") + 1]
        setting = words[words.index("--set") + 1]
        os.chdir(CLONE)
        super().__init__("page", ["urlfrontier.listen=", setting],
                         os.path.join(CLONE, data), executable="./run")

    def counts(self, task):
        return json.loads(self.http("/tasks/" + task)[2])["counts"]

    def are_fresh(self, *tasks):
        def all_fresh():
            try:
                return all(self.counts(t)["fresh"] == PRODUCTS ==
                           sum(self.counts(t).values()) for t in tasks)
            except KeyError:
                return False
        return wait_until(all_fresh, 30)


def title(command):
    return "page: " + " ".join(command.split())[:64]


def walk():
    port, server, said, asked = fixed_port(), None, "", None
    for kind, block in BLOCKS:
        if kind == "":
            check(f"page: it shows {block.strip()}", block.strip() in said,
                  said[-600:])
            continue
        if block.startswith("examples/shop/serve"):
            with open(SHOP_OUT, "w") as f:
                start([CLONE + "/examples/shop/serve", *block.split()[1:],
                       str(port)], stdout=f, stderr=subprocess.DEVNULL)
            check(title(block), wait_until(lambda: listens(port)))
            continue
        if block.startswith("./run serve"):
            server = Page(block)
            check(title(block), server.are_fresh("scrape", "price",
                                                 "summary"))
            continue
        if "broken.csv" in block:
            check("page: all run again", wait_until(
                lambda: runs_of(server, "scrape") == 2 * PRODUCTS, 30))
            asked = requests()
        ran = subprocess.run(["sh", "-e", "-c", block], cwd=CLONE,
                             timeout=60, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL)
        check(title(block), ran.returncode == 0, ran.stdout + ran.stderr)
        said += ran.stdout
        if block.startswith("cp -r"):
            move_shop(port)
    same("page: the repair asks for nothing", requests(), asked)
    return server, said


def runs_of(server, task):
    return json.loads(server.http("/tasks/" + task)[2])["used"]["runs"]


def requests():
    """That the shop has had, by its log."""
    with open(SHOP_OUT) as f:
        log = re.search(r"/\S+/access\.log", f.read())[0]
    with open(log) as f:
        return len(f.readlines())


def table(name):
    """Its head, and its rows by their id: categories come in any order."""
    with open(f"{CLONE}/{name}.csv") as f:
        head, *rows = f.read().splitlines()
    return [head] + sorted(rows)


def move_shop(port):
    path = os.path.join(CLONE, "myshop", "shop.js")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("8077", str(port)))


try:
    clone()
    build()
    daemon, out = walk()
    lines = table("products")
    same("page: the table", (len(lines), lines[0], lines[8]), (
        PRODUCTS + 1, "id,title,stock,price.price",
        "shop:p0007,Product 0007,7,€10.95"))
    same("page: broken", table("broken")[1:], [
        f"shop:p{i:04}," for i in range(PRODUCTS)])
    same("page: mended", table("mended")[1:], [
        f"shop:p{i:04},Product {i:04}" for i in range(PRODUCTS)])
    for text in ('"title": "Product 0007"', f"applied: {PRODUCTS};",
                 "the parser is broken"):
        check(f"page: it shows {text}", text in out, out[-600:])
    same("page: cases", re.findall(r"^cases: .*", out, re.M), [
        "cases: 6, ok: 6, not ok: 0", "cases: 6, ok: 4, not ok: 2",
        "cases: 6, ok: 6, not ok: 0"])
    same("page: in order at the end", daemon.stop(30), 0)
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
