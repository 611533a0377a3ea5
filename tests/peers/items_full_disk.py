"""The disk fills up under items.db: 507 and nothing half, reading goes on, and
with room again writing does.  On a small tmpfs of its own.
"""
from items_peer import *
from small_disk import *

small_disks("items_full_disk")
place = os.path.join(PLACE, "disk")
trouble = mount(place)
if trouble is not None:
    skip("items_full_disk", f"tmpfs cannot be mounted: {trouble.strip()}")
    done()
s = Items("full", ["data.free_bytes_min=0", "ledger.segment_bytes=1MiB",
                   "ledger.write_buffer=4MiB"], data=place + "/data")
ballast = fill(place, 4 * MIB)
stored, status, value = [], 201, None
text = "x" * 20000
for i in range(2000):
    status, value = s.ask("POST", "/items/add", {
        "id": f"full:{i}", "tags": ["page"], "data": {"text": text}})
    if status != 201:
        break
    stored.append(i)
same("a change is refused", (status, value["code"]), (507, "disk_full"))
check("some were stored before", len(stored) > 10, len(stored))
status, value = s.ask("POST", "/items/add", "".join(json.dumps({
    "id": f"lines:{i}", "data": {"text": text}}) + "\n" for i in range(500)),
    LINES)
same("an import too", (status, value["code"]), (507, "disk_full"))
same("a claim too, or it gets a lease", s.ask("POST", "/worker/claim", {
    "worker": "w"})[0] in (200, 507), True)
same("reading goes on", s.ask("GET", "/items/full:0")[0], 200)
check("it runs", s.runs())
os.unlink(ballast)
check("with room, writing goes on", wait_until(lambda: s.ask(
    "POST", f"/items/after:{time.monotonic_ns()}", {})[0] == 201, 10))
got = s.ask("GET", "/items?prefix=full:", Accept=LINES)[1].splitlines()
same("all that were promised are there, and no other", sorted(
    int(json.loads(x)["id"][5:]) for x in got), stored)
s.restart(kill=True)
same("... after kill -9", len(s.ask(
    "GET", "/items?prefix=full:", Accept=LINES)[1].splitlines()), len(stored))
same("the end", s.stop(), 0)
done()
