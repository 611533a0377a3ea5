"""The disk fills up under items: what was acknowledged stays, reading goes on, and
with room the work does.

On a small tmpfs of its own: by a command, and by a daemon's items door, where the
port answers 507 and the writer's thread goes on.
"""
import json
import urllib.error
import urllib.request

from peer import *
from small_disk import *

if os.geteuid() != 0:
    skip("items_disk", "only root may mount")
    done()
need("items_disk", "mount", "umount")
A = program()
BIG = "x" * 50000


def lines(first, n):
    return "".join(json.dumps({"id": f"i{i}", "tags": ["t"],
                               "data": {"x": BIG}}) + "\n"
                   for i in range(first, first + n))


def argiope(*words, **more):
    return run(A, "items", *words, "--data", data, **more)


def ids():
    code, out, err = argiope("list")
    return [line.split()[0] for line in out.splitlines()]


def by_command():
    with open("small.ndjson", "w") as f:
        f.write(lines(0, 20))
    with open("large.ndjson", "w") as f:
        f.write(lines(20, 2000))
    code, out, err = argiope("add", "--file", "small.ndjson")
    same("with room", (code, out.strip()),
         (0, "20 lines: 20 new, 0 skipped, 0 wrong"))
    ballast = fill(place, 8 * MIB)
    code, out, err = argiope("add", "--file", "large.ndjson")
    same("without room the command fails", code, 74)
    check("... and says why", "full" in err, err)
    had = ids()
    check("... what was there is there", {f"i{i}" for i in range(20)} <=
          set(had), had)
    code, out, err = argiope("check")
    check("... and in order", code == 0 and " 0 differences" in out, out + err)
    os.unlink(ballast)
    code, out, err = argiope("add", "--file", "small.ndjson")
    same("with room again", (code, out.strip()),
         (0, "20 lines: 0 new, 20 skipped, 0 wrong"))
    code, out, err = argiope("check")
    check("... and in order", code == 0 and " 0 differences" in out, out + err)


def ask(method, path, body=None, kind="application/json"):
    r = urllib.request.Request(url + path, method=method,
                               data=None if body is None else body.encode(),
                               headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(r, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def add(i):
    return ask("POST", "/items/add", json.dumps(
        {"id": f"d{i}", "tags": ["t"], "data": {"x": BIG}}))[0]


def by_door():
    ballast = fill(place, 8 * MIB)
    told = []
    status = 201
    for i in range(2000):
        status = add(i)
        if status != 201:
            break
        told.append(f"d{i}")
    same("the door answers 507", status, 507)
    check("... after some were added", len(told) > 10, told)
    same("... again", add(5000), 507)
    status, body = ask("GET", "/items/" + told[0])
    check("... and reads", status == 200 and json.loads(body)["id"] == told[0],
          body[:100])
    status, body = ask("GET", "/status")
    check("... and says which file", status == 200 and [
        u for u in json.loads(body)["unwritable"] if "items.db: " in u["why"]],
        body)
    same("... and is not ready", ask("GET", "/readyz")[0], 503)
    os.unlink(ballast)
    check("with room it is ready though nobody writes",
          wait_until(lambda: ask("GET", "/readyz")[0] == 200, 20))
    check("with room the writer goes on",
          wait_until(lambda: add(6000) in (200, 201), 20))
    here = set(ids())
    check("... nothing that was acknowledged is lost",
          set(told) | {"d6000"} <= here, set(told) - here)
    code, out, err = argiope("check")
    check("... and in order", code == 0 and " 0 differences" in out, out + err)


place = os.path.join(PLACE, "disk")
trouble = mount(place)
if trouble is not None:
    skip("items_disk", f"tmpfs cannot be mounted: {trouble.strip()}")
    done()
data = place + "/data"
by_command()
with open("out", "w") as out, open("log", "w") as log:
    daemon = start([A, "serve", "--data", data, "--set",
                    "http.listen=127.0.0.1:0", "--set",
                    "urlfrontier.listen=off", "--set",
                    "data.free_bytes_min=0"], stdout=out, stderr=log)
check("the daemon starts", wait_until(
    lambda: "serves http" in open("out").read(), 20), open("log").read())
url = open("out").read().split("http", 1)[1].split()[0].rstrip("/")
url = "http" + url
if wait_until(lambda: ask("GET", "/readyz")[0] == 200, 20) and \
        ask("GET", "/items")[0] == 200:
    by_door()
else:
    skip("by the door", "it has no items door")
end(daemon)
done()
