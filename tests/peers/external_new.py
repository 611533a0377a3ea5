"""`argiope external new`: what it writes runs as it is against the server of
examples/external, and python-jsonschema finds its form and its schema right."""
import json
import os
import subprocess
import urllib.parse

from peer import (SOURCE, built, check, done, free_port, need, ours, run, same,
                  skip, start)

TRY = built("tests/peers/external_try")
EXAMPLES = os.path.join(SOURCE, "examples", "external")
need("external new", files=[TRY])


def try_out(file, *words):
    return run(TRY, file, *words)


# ---- The command ---------------------------------------------------------------

code, out, err = ours("external", "new", "shop_1")
same("a connector is written", (code, out), (0, "shop_1.json\n"))
with open("shop_1.json", encoding="utf-8") as f:
    written = f.read()
with open(os.path.join(EXAMPLES, "connector.json"), encoding="utf-8") as f:
    example = f.read()
same("... as the example, with its name", written,
     example.replace('"books"', '"shop_1"', 1))

with open("shop_1.json", "w", encoding="utf-8") as f:
    f.write("mine")
code, out, err = ours("external", "new", "shop_1")
with open("shop_1.json", encoding="utf-8") as f:
    same("a file that is there stays as it is", (code, f.read()), (73, "mine"))
check("... and is named", "shop_1.json" in err, err)
for name in "", "Shop", "a/b", "..", "a.json", "x" * 65, "é":
    before = sorted(os.listdir("."))
    code, out, err = ours("external", "new", name)
    same(f"no name: {name[:9]!r}", (code, sorted(os.listdir("."))),
         (65, before))
same("a name has up to 64 bytes", ours("external", "new", "x" * 64)[0], 0)

code, out, err = ours("external", "new", "--script", "shop_1")
same("a module is written", (code, out), (0, "shop_1.js\n"))
with open("shop_1.js", encoding="utf-8") as f:
    written_js = f.read()
with open(os.path.join(EXAMPLES, "connector.js"), encoding="utf-8") as f:
    same("... as its example", written_js,
         f.read().replace('"books"', '"shop_1"', 1))

# ---- What it says --------------------------------------------------------------

with open("books.json", "w", encoding="utf-8") as f:
    f.write(written)
code, out, err = try_out("books.json", "form")
form = json.loads(out)
written = json.loads(written)
same("the form has its parameters", list(form["parameters"]["properties"]),
     list(written["parameters"]["properties"]))
obj = json.loads(try_out("books.json", "object", "https://h.example/b")[1])
same("... and so has the external object",
     [p["name"] for p in obj["parameters"]],
     list(written["parameters"]["properties"]))
same("... with its restriction", obj["parameters"][1]["restrictions"],
     written["parameters"]["properties"]["published_from"]["x-restrictions"])

# ---- It runs -------------------------------------------------------------------

port = free_port()
server = start(["python3", os.path.join(EXAMPLES, "server.py"), "--port",
                str(port)], stdout=open("server.out", "w", encoding="ascii"),
               stderr=open("server.log", "w", encoding="utf-8"))
with open(os.path.join(EXAMPLES, "books.json"), encoding="utf-8") as f:
    books = json.load(f)


def order_of(params):
    """The order for these parameters; a harvest asks no private address, so
    the server has a name here."""
    code, out, err = try_out("books.json", "order", json.dumps(params))
    order = json.loads(out)
    url = urllib.parse.urlsplit(order["options"]["api"]["url"])
    order["options"]["api"]["url"] = url._replace(
        netloc="books.example").geturl()
    return order


def judged(documents):
    """(exit code, faults) of documents against the schema."""
    with open("documents", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(d) + "\n" for d in documents)
    with open("documents", encoding="utf-8") as f:
        ended = subprocess.run([TRY, "books.json", "documents"], stdin=f,
                               text=True, capture_output=True, timeout=60)
    return ended.returncode, ended.stdout.splitlines()


def documents_of(name, params):
    with open(name + ".order", "w", encoding="utf-8") as f:
        json.dump(order_of(params), f)
    code, out, err = ours(
        "harvest", "run", "--message", name + ".order", "--into", name,
        "--data", "data", "--quiet", "--set",
        f"fetch.resolve=books.example:80:127.0.0.1:{port}")
    check(f"{name}: the harvest succeeds", code == 0, err)
    found = ours("archive", "items", name)[1]
    return [json.loads(line) for line in found.splitlines()]


novels = [b for b in books if b["subject"] == "novel"]
found = documents_of("novels", {})
same("without parameters it takes its defaults", found, novels)
check("... over several pages", len(novels) > 4, len(novels))
found = documents_of("some", {"subject": "novel", "published_from":
                              "1847-11-01", "published_until": "1865-12-31"})
same("optional parameters narrow it", found, [
    b for b in novels if "1847-11-01" <= b["published"] <= "1865-12-31"])
found = documents_of("science", {"subject": "science", "published_until": ""})
same("one page, and an empty field", found,
     [b for b in books if b["subject"] == "science"])
same("its documents are valid", judged(books), (0, []))
with open("module.js", "w", encoding="utf-8") as f:
    f.write(written_js.replace("8766", str(port)))
with open("novels.json", "w", encoding="utf-8") as f:
    json.dump({"subject": "novel"}, f)
code, out, err = ours("external", "check", "module.js", "--params",
                      "novels.json", "--max", "100")
same("the module gives the same", (code, [json.loads(x) for x in
                                          out.splitlines()]), (0, novels))
code, faults = judged([{"id": "", "title": "x", "added": "yesterday"}])
check("another is not, and each reason is told", code == 1 and
      any(f.startswith("/id must be a text") for f in faults) and
      any(f.startswith("/added ") for f in faults), faults)
code, out, err = try_out("books.json", "order", json.dumps(
    {"subject": "crime", "published_from": "2000-01-01",
     "published_until": "1999-01-01"}))
same("wrong parameters are told, each by its name", (code, out.splitlines()), (
    1, ["subject: it is none of the options",
        "published_from: From must not be after until."]))

# ---- What others say of it -----------------------------------------------------

try:
    import jsonschema
except ImportError:
    skip("python-jsonschema", "it is not installed")
    done()

jsonschema.Draft202012Validator.check_schema(form["parameters"])
check("the form is a JSON Schema 2020-12", form["parameters"]["$schema"] ==
      jsonschema.Draft202012Validator.META_SCHEMA["$id"])
judge = jsonschema.Draft202012Validator(form["parameters"])
for params in ({"subject": "novel"}, {"subject": "crime"}, {},
               {"subject": "poetry", "published_from": "2026-01-01"},
               {"subject": ["novel"]}):
    # A default is ours to fill in.
    filled = {"subject": "novel", **params}
    same(f"both judge {params} alike",
         try_out("books.json", "order", json.dumps(params))[0] == 0,
         judge.is_valid(filled))
judge = jsonschema.Draft7Validator(form["schema"])
check("the books are valid by its schema", all(map(judge.is_valid, books)))
done()
