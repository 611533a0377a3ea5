"""Tasks without a daemon: `argiope task run` on the shop of examples/shop,
served by nginx, and the cases that `argiope task record` makes of its runs.
"""
import re

from peer import *

need("task run", "nginx")

PRODUCTS = 20


def replace_in(path, old, new):
    with open(path) as f:
        text = f.read()
    if old not in text:
        raise ValueError(f"{path} has no {old}")
    with open(path, "w") as f:
        f.write(text.replace(old, new))


def copy_shop(port):
    shutil.rmtree("shop", ignore_errors=True)
    shutil.copytree(SOURCE + "/examples/shop", "shop")
    replace_in("shop/shop.js", "8077", str(port))


def start_shop():
    port = fixed_port()
    start([SOURCE + "/examples/shop/serve", str(PRODUCTS), str(port)],
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    copy_shop(port)
    check("the shop serves", wait_until(lambda: listens(port)))
    return port


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


# ---- argiope task record, argiope task test ---------------------------------------

def record(what, *words, data="data", want=0, text=""):
    code, out, err = ours("task", "record", *words, "--data", data)
    check(f"record: {what}", code == want and text in out + err,
          (code, out, err))


def tested(what, *words, want=0, says=()):
    """`task test` needs no data directory, and makes none."""
    code, out, err = ours("task", "test", *words, "--data", "nowhere")
    check(f"test: {what}", code == want and all(
        text in out + err for text in says), (code, out, err))
    check(f"test: {what}; without a data directory",
          not os.path.exists("nowhere"))


def a_broken_parser():
    """Must show 5: red for a broken parser, green after the fix."""
    tested("the example's cases", "shop", says=["cases: 5, ok: 5, not ok: 0"])
    replace_in("shop/parse.js", '$("[itemprop=sku]")', '$("[itemprop=id]")')
    tested("a broken parser", "shop", want=1, says=[
        "ok cases/price\nnot ok cases/product\n"
        '  ~ /mutations/0/data/sku  ""\n', "ok: 4, not ok: 1"])
    replace_in("shop/parse.js", '$("[itemprop=id]")', '$("[itemprop=sku]")')
    tested("it is mended", "shop", says=["ok cases/product\n", "not ok: 0"])


def new_cases():
    record("a run", "--task", "scrape", "--item", "shop:p0003",
           "shop/cases/new")
    record("the name is taken", "--task", "scrape", "--item", "shop:p0003",
           "shop/cases/new", want=73, text="is a case already")
    record("by its number", "R1", "shop/cases/first")
    record("no such run", "R99999", "shop/cases/none", want=66)
    record("no such pair", "--task", "scrape", "--item", "shop:home",
           "shop/cases/none", want=66, text="no run of scrape on shop:home")
    record("no run is named", "shop/cases/none", want=64)
    check("record: nothing is left of refused ones",
          not os.path.exists("shop/cases/none"))
    tested("new cases", "shop/cases", says=[
        "ok first\n", "ok new\n", "cases: 7, ok: 7"])


def updates():
    replace_in("shop/parse.js", "features:", "letters: 12, features:")
    tested("a new field", "shop/cases/new", want=1, says=[
        "  + /mutations/0/data/letters  12\n"])
    tested("--update", "shop", "--update", says=[
        "ok cases/new (updated)", "ok: 7, not ok: 0, updated: 2"])
    tested("after --update", "shop", says=["ok: 7, not ok: 0"])
    replace_in("shop/parse.js", "letters: 12, ", "letters: 13, ")
    replace_in("shop/shop.js", "(await fetch(",
               '(await fetch("http://127.0.0.1:1/" + ')
    tested("what was not recorded is not accepted", "shop/cases/new",
           "--update", want=1, says=["not ok shop/cases/new", "ReplayMiss"])


def blobs_and_failures():
    """Blobs, a failed run, another main file, damage."""
    os.mkdir("blobs")
    with open("blobs/blobs.js", "w") as f:
        f.write("""export default {
  seeds: [{ id: "a", tags: ["t"] }], tags: { t: ["put", "get", "fail"] },
  tasks: {
    put: { version: "1", run({ putBlob }) {
      putBlob({ name: "b", bytes: new Uint8Array([1, 2, 255]) }); } },
    get: { version: "1", dependsOn: ["put"],
      async run({ getBlob, updateData }) {
        const bytes = await getBlob("b");
        updateData((old) => ({ ...old, sum: bytes.reduce((a, b) => a + b) }));
      } },
    fail: { version: "1", run() { throw new PermanentError("no luck"); } }
  } };
""")
    code, out, err = ours("task", "run", "blobs/blobs.js", "--once", "--data",
                          "blob-data")
    check("blobs: they run", code == 1 and "fail failed on a: " in err, err)
    for task in ("put", "get", "fail"):
        record(task, "--task", task, "--item", "a", "blobs/cases/" + task,
               data="blob-data")
    tested("blobs, and a failed run", "blobs", says=["ok: 3, not ok: 0"])
    replace_in("blobs/blobs.js", 'throw new PermanentError("no luck");', "")
    tested("a failure is mended", "blobs", want=1, says=[
        "expected: failed (permanent, permanent): PermanentError: no luck"])
    shutil.copy("blobs/blobs.js", "other.js")
    shutil.move("blobs/blobs.js", "blobs/moved.js")
    tested("no configuration", "blobs", want=66, says=["blobs.js"])
    tested("another configuration", "blobs/cases/get", "--module", "other.js")
    shutil.rmtree("blobs/cases/get/blobs")
    tested("its blob is gone", "blobs/cases/get", "--module", "other.js",
           want=1, says=["not ok blobs/cases/get"])
    with open("blobs/cases/get/case.json", "w") as f:
        f.write("{")
    tested("a damaged case", "blobs/cases/get", "--module", "other.js",
           want=70, says=["case.json"])
    tested("no case", "blob-data",
           want=66, says=["there is no case"])


port = start_shop()
once()
a_broken_parser()
new_cases()
updates()
blobs_and_failures()
copy_shop(port)
bad_words()
watch()
done()
