"""Tasks without a daemon: `argiope task run` on the shop of examples/shop,
served by nginx.
"""
import re

from peer import *

need("task run", "nginx")

PRODUCTS = 20


def replace_in(path, old, new):
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace(old, new))


def start_shop():
    port = fixed_port()
    start([SOURCE + "/examples/shop/serve", str(PRODUCTS), str(port)],
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.copytree(SOURCE + "/examples/shop", "shop")
    replace_in("shop/shop.js", "8077", str(port))
    check("the shop serves", wait_until(lambda: listens(port)))


def task_run(*words, data="data"):
    return ours("task", "run", "shop/shop.js", "--data", data, *words)


def events(out):
    return [json.loads(line) for line in out.splitlines()]


# ---- argiope task run ----------------------------------------------------------

def once():
    code, out, err = task_run("--once", "--task", "find")
    same("once: one task", (code, out[:33], err),
         (0, "runs: 2, failed: 0, requests: 2; ", ""))
    code, out, err = task_run("--once", "--item", "shop:p0003", "--json")
    same("once: one item", (code, [(e["task"], e["item"], e["ok"])
                                   for e in events(out)[:-1]]),
         (0, [(t, "shop:p0003", True) for t in ("scrape", "price",
                                                "summary")]))
    code, out, err = task_run("--once", "--json")
    same("once: the rest", (code, events(out)[-1]["runs"]),
         (0, 3 * (PRODUCTS - 1)))
    code, out, err = task_run("--once")
    same("once: nothing is due", (code, out[:15]), (0, "runs: 0, failed"))
    code, out, err = ours("items", "list", "--tag", "product", "--json",
                          "--metadata", "summary", "--data", "data")
    same("once: all results are stored", sorted(
        json.loads(line)["metadata"]["summary"]["text"]
        for line in out.splitlines()),
         [f"Product {n:04}: €{n + 3}.95" for n in range(PRODUCTS)])
    code, out, err = ours("items", "check", "--data", "data")
    check("once: items check finds nothing", code == 0, out + err)
    archive_is_sound("once: archive check finds nothing", "data")


def bad_words():
    for words, want, text in (
            (["--once", "--task", "none"], 66, "has no task none"),
            (["--once", "--item", "nobody"], 66,
             "nobody: there is no such item"),
            (["--once", "--watch"], 64, "--watch does not end")):
        code, out, err = task_run(*words)
        check("bad words: " + " ".join(words), code == want and text in err,
              (code, out, err))
    code, out, err = ours("task", "run", "none.js", "--data", "data")
    check("bad words: no such file", code == 66 and "none.js" in err,
          (code, err))


def watch():
    """A file is broken and mended while it runs; another process waits."""
    replace_in("shop/parse.js", "readProduct($) {",
               "readProduct($) { $.bad();")
    with open("watch.out", "w") as f:
        child = start([program(), "task", "run", "shop/shop.js", "--watch",
                       "--json", "--data", "other", "--task", "find",
                       "--task", "scrape"], stdout=f, stderr=f)

    def said():
        with open("watch.out") as f:
            return f.read()

    check("watch: every run fails", wait_until(lambda: said().count(
        '"ok":false') == PRODUCTS, 20), said()[-500:])
    code, out, err = ours("items", "failures", "scrape", "--group", "--data",
                          "other")
    check("watch: the failures are stored", re.match(r"20 .*TypeError", out),
          out)
    code, out, err = task_run("--once", data="other")
    check("watch: another process is told who has the data", code == 75 and
          f"in use by process {child.pid}" in err, (code, err))
    replace_in("shop/parse.js", "{ $.bad();", "{ (")
    check("watch: a faulty file", wait_until(
        lambda: "SyntaxError" in said() and "stays in force" in said(), 10),
          said()[-500:])
    replace_in("shop/parse.js", "{ (", "{")
    replace_in("shop/shop.js", 'version: "1", ttl: "30d"',
               'version: "2", ttl: "30d"')
    check("watch: a new version runs", wait_until(lambda: said().count(
        '"task":"scrape","item":"shop:p0019","ok":true') == 1, 20),
          said()[-500:])
    child.send_signal(signal.SIGINT)
    same("watch: Ctrl-C; runs had failed", child.wait(20), 1)


start_shop()
once()
bad_words()
watch()
done()
