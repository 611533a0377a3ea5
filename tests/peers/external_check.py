"""`argiope external check`: what it prints, where, and what it says of faults
of the connector and of the source.
"""
import json
import os
import re
import signal
import sys
import time

from external_peer import (ENVIRONMENT, PAGE, TMP, Api, external,
                           external_started, put)
from peer import (PLACE, SOURCE, check, done, fixed_port, need, ours, same,
                  start, wait_until)

need("external_check", "openssl")

api = Api()
file = api.connector()
params = put("params.json", {"kind": "red things", "most": 7})


def documents(out):
    return [json.loads(line) for line in out.splitlines()]


# ---- All is well ------------------------------------------------------------------

code, out, err = external("check", file, "--params", params)
same("exit code", code, 0)
same("20 documents at most, as the platform has them", documents(out),
     api.items[:20])
same("two requests were made", len(api.asked), 20 // PAGE)
calls = re.findall(r"argiope: GET (\S+): 200", err)
same("and both are told", len(calls), 2)
check("with the parameters in the address", all(
    "/red%20things?most=7" in x for x in calls), calls)
check("the sum is told", "documents: 20, invalid: 0; "
      "requests: 2" in err, err)

api.forget()
code, out, err = external("check", file, "--params", params, "--max", "1000")
same("all of them", (code, documents(out)), (0, api.items))
same("five pages", len(api.asked), 5)
code, out, err = external("check", file, "--params", params, "--max", "1")
same("one of them", (code, documents(out)), (0, api.items[:1]))
code, out, err = external("check", file, "--params",
                          put("more.json", {"kind": "a", "moreover": 1}))
check("an unknown parameter is a note", code == 0 and
      "parameter moreover: " in err, err)

# ---- Faults of its own ------------------------------------------------------------

code, out, err = external("check", file, "--params",
                          put("wrong.json", {"most": 0}))
same("parameters that are wrong", (code, out), (65, ""))
check("each is named", "parameter kind: " in err and "parameter most: " in
      err, err)
code, out, err = external("check", file)
check("no parameters are none", code == 65 and "parameter kind: " in err, err)
for name, text in (("no JSON", "{"), ("no object", "[]")):
    code, out, err = external("check", file, "--params",
                              put("broken.json", text))
    check(f"parameters are {name}", code == 65 and "broken.json" in err, err)
    code, out, err = external("check", put("broken.json", text))
    check(f"the connector is {name}", code == 65 and "broken.json" in err, err)
same("there is no such file", external("check", "absent.json")[0], 66)
same("no file is given", external("check")[0], 64)
same("--max 0", external("check", file, "--max", "0")[0], 64)

api.items[2] = {"id": 3, "nom": "three"}
api.items[4] = {"id": 5, "name": 5}
code, out, err = external("check", file, "--params", params)
same("documents that the schema does not allow", code, 65)
same("are printed all the same", documents(out), api.items[:20])
check("and each is named", re.search(r"document 3, 3: .*name", err) and
      re.search(r"document 5, 5: /name: ", err), err)
check("and counted", "invalid: 2" in err, err)
api.items[2], api.items[4] = api.item(3), api.item(5)
code, out, err = external("check", api.connector("keyless", docIdField="key"),
                          "--params", params)
check("documents without docIdField", code == 65 and "key" in err, err)
code, out, err = external("check", api.connector("lost", api={
    "url": api.base + "/{kind}?most={most}",
    "label": "things", "items": "/items", "id": "/number"}),
    "--params", params)
check("items without an id are told", "have no id" in err and out == "", err)

# ---- Faults of the source ---------------------------------------------------------

for status, who, tries in ((401, "config", 1), (404, "system", 1),
                           (500, "transient", 3)):
    api.forget()
    api.statuses = {i: status for i in range(1, 10)}
    code, out, err = external("check", file, "--params", params)
    same(f"status {status}", (code, out, len(api.asked)), (69, "", tries))
    check("... and who can do something", f"argiope: {who}: " in err, err)
api.forget()
api.statuses = {2: 401}
code, out, err = external("check", file, "--params", params)
same("what came before a failure is printed", (code, documents(out)),
     (69, api.items[:PAGE]))
api.forget()
api.statuses = {2: 503}
code, out, err = external("check", file, "--params", params)
same("a passing failure", (code, documents(out), len(api.asked)),
     (0, api.items[:20], 3))
api.statuses = {}
away = Api.connector(type("Away", (), {
    "base": f"http://127.0.0.1:{fixed_port()}"}), "away")
code, out, err = external("check", away, "--params", params)
check("nobody listens", code == 69 and "transient: " in err, err)

# ---- The credential ---------------------------------------------------------------

CANARY = "canary-4711"
secret = put("secret.json", {"username": "ada", "password": CANARY})
wrong = put("other.json", {"username": "ada", "password": CANARY + "x"})
os.chmod(secret, 0o600)
os.chmod(wrong, 0o600)
data = os.path.join(PLACE, "data")
same("a credential is kept", ours("credential", "put", "things", secret,
                                  "--data", data)[0], 0)
closed = Api("api.example")
closed.password = CANARY
private = closed.connector("private", credential="basic", api={
    **json.load(open(closed.connector("open")))["api"],
    "auth": {"kind": "basic"}})
private_words = ("check", private, "--params", params, *closed.settings)
for name, words in (("a file", ("--credentials-file", secret)),
                    ("its name", ("--credential", "things", "--data",
                                  data))):
    code, out, err = external(*private_words, *words)
    same(f"with the credential of {name}", (code, documents(out)),
         (0, closed.items[:20]))
    check("... which is not printed", CANARY not in out + err, err)
code, out, err = external(*private_words, "--credentials-file", wrong)
check("with another one", code == 69 and "argiope: config: " in err and
      CANARY not in err, (code, err))
code, out, err = external(*private_words)
check("without one the fault is ours", code == 65 and "credentials" in err,
      (code, err))
same("a name that nobody has given", external(
    *private_words, "--credential", "other", "--data", data)[0], 66)

# ---- Ctrl-C, and what is left -----------------------------------------------------

api.forget()
api.delay_s = 30
child = external_started("check", file, "--params", params, stdout=-3,
                         stderr=-3)
wait_until(lambda: api.asked)
began = time.monotonic()
child.send_signal(signal.SIGINT)
same("Ctrl-C", child.wait(20), 75)
check("... ends it soon", time.monotonic() - began < 10)
api.delay_s = 0
same("no run has left anything", os.listdir(TMP), [])
same("nor has it made a data directory", os.listdir(ENVIRONMENT["HOME"]), [])

# ---- The example ------------------------------------------------------------------

example = os.path.join(SOURCE, "examples", "external")
port = fixed_port()
server = start([sys.executable, os.path.join(example, "server.py"), "--port",
                str(port)], stdout=-3, stderr=-3)
with open(os.path.join(example, "connector.json")) as f:
    books = put("books.json", f.read().replace(":8766/", f":{port}/"))


def answers():
    return external("check", books)[0] == 0


check("the example runs as it is", wait_until(answers))
code, out, err = external("check", books, "--params",
                          put("novels.json", {"subject": "novel"}))
with open(os.path.join(example, "books.json")) as f:
    novels = [x for x in json.load(f) if x["subject"] == "novel"]
same("and gives the books that were asked for", (code, documents(out)),
     (0, novels))
done()
