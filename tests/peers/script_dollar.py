"""`$` against cheerio: 100 real pages x 30 selectors, and what it costs.

Each selector is asked for its number, texts, attributes and markup, and for
what 26 calls give from there.  The pages are those of three real sites;
every N-th of each, so that all kinds come by.
"""
from peer import *

PACKAGES = ("cheerio@1.1.2",)
PAGES = 100
JAVA = [f"/usr/share/doc/openjdk-{n}-jre-headless/api" for n in (17, 21)]
WHAT = ["length", "texts", "attributes", "markup"] + [
    "parent", "parents", "closest", "children", "siblings", "next", "prev",
    "find", "find >", "not", "filter", "has", "add", "slice", "eq",
    "contents", "index", "is", "hasClass", "last", "html", "outerHtml",
    "attr", "val", "filter(f)", "siblings of many"]

builds = os.path.dirname(os.environ.get("ARGIOPE_BUILD",
                                        os.path.dirname(program())))
asker = next((p for p in (os.environ.get("SCRIPT_DOLLAR", ""), builds +
                          "/tests/peers/script_dollar")
              if os.access(p, os.X_OK)), None)
if asker is None:
    skip("script_dollar", "tests/peers/script_dollar is not built")
    done()
need("script_dollar", "node", "npm")
tools = node_with("script-dollar-1", *PACKAGES)
if tools is None:
    skip("script_dollar", "cheerio cannot be had from npm")
    done()
questions = HERE + "/script_dollar_questions.js"


def pages_of(root, n):
    """N pages, evenly over all of at most 100 KB, in an order of their own."""
    found = sorted(p for p in glob.glob(root + "/**/*.html", recursive=True)
                   if os.path.getsize(p) < 100_000)
    return found[::max(1, len(found) // n)][:n] if found else []


roots = [POSTGRESQL, CPPREFERENCE + "/en"] + JAVA
roots = [r for r in roots if os.path.isdir(r)]
pages = [p for r in roots for p in pages_of(r, -(-PAGES // len(roots)))]
if len(pages) < PAGES:
    skip("script_dollar", "the documentation of three projects is not here")
    done()
pages = pages[:PAGES]


def ask(command):
    with open("pages", "w") as f:
        f.write("\n".join(pages) + "\n")
    with open("pages") as f:
        said = subprocess.run(command, stdin=f, capture_output=True, text=True,
                              timeout=240)
    lines = said.stdout.splitlines()
    if len(lines) != len(pages):
        sys.exit(f"{command[0]} answers {len(lines)} of {len(pages)}: "
                 f"{said.stderr[-500:]}")
    return [json.loads(line) for line in lines]


ours = ask([asker, questions])
theirs = ask(["node", HERE + "/script_dollar.js", tools, questions])
selectors = json.loads(subprocess.run(
    ["node", "-e", "console.log(JSON.stringify(new Function(require('fs')"
     f".readFileSync({questions!r},'utf8')+';return SELECTORS')()))"],
    capture_output=True, text=True, check=True).stdout)

answers = differ = found = 0
listed = {}
for page, a, b in zip(pages, ours, theirs):
    for css, x, y in zip(selectors, a, b):
        found += x[0] > 0
        for what, p, q in zip(WHAT, x, y):
            answers += 1
            if p != q:
                differ += 1
                listed.setdefault((css, what), []).append((page, p, q))
for (css, what), cases in sorted(listed.items()):
    page, p, q = cases[0]
    note(f"{css} {what}: {len(cases)} pages, {os.path.basename(page)}: ours "
         f"{p}, cheerio {q}")
note(f"{len(pages)} pages x {len(selectors)} selectors, {answers} answers, "
     f"{differ} differ")
same("30 selectors", len(selectors), 30)
check("most selectors find something", found > len(pages) * 10, found)
same("no answer differs from cheerio's", differ, 0)

# ---- What it costs ----------------------------------------------------------------

big = sorted((p for r in roots for p in glob.glob(r + "/**/*.html",
                                                  recursive=True)),
             key=lambda p: abs(os.path.getsize(p) - 400_000))[0]


def cost(command, rounds):
    said = subprocess.run(command + ["--cpu", big, str(rounds)],
                          capture_output=True, text=True, timeout=120)
    return [float(x) for x in said.stdout.split()]


us, them = [], []
for _ in range(3):
    us.append(cost([asker, questions], 20))
    them.append(cost(["node", HERE + "/script_dollar.js", tools, questions],
                     8))
same("both find the same", {u[1] for u in us}, {t[1] for t in them})
ours_ms, cheerio_ms = min(u[0] for u in us), min(t[0] for t in them)
note(f"{os.path.getsize(big)} bytes parsed and ten selectors: ours "
     f"{ours_ms:.1f} ms CPU, cheerio {cheerio_ms:.1f} ms; asked 15 ms and "
     f"half of cheerio's")
check("a page of 400 KB and ten selectors: 15 ms", ours_ms <= 15, ours_ms)
check("half of cheerio's CPU", ours_ms <= cheerio_ms / 2,
      f"{ours_ms} and {cheerio_ms}")
done()
