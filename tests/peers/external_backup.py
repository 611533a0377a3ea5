"""`argiope backup` of a running daemon and --restore: an undelivered task's spool,
an open task, cursors, and the versions of a registered connector.

usage: external_backup.sh PROGRAM
"""
from external_door_peer import *

ALL = list(range(1, 46))


def meta(version):
    return json.dumps({"success": True, "version": 0, "payload": {"meta": {
        "fid": "e1", "version": version}}})


api, back = Api(), Back()
place = connectors("connectors")


def declare(kind):
    file = api.connector(description=kind, api={
        "url": api.base + "/" + kind + "/{kind}?most={most}",
        "label": "things", "items": "/items", "id": "/id",
        "next": {"cursor": "/next", "parameter": "after"}})
    shutil.move(file, os.path.join(place, "things.json"))


paths = []
answer = api.answer


def noted(request):
    paths.append(request.path)
    answer(request)


api.answer = noted
settings = ["external.connectors=" + place, "external.retry_s_max=2"]
declare("v1")
s = External("first", place, "external.retry_s_max=2")


def registered(version):
    back.reply = lambda call, number: (200, {}, meta(version))
    code, out, err = ours(
        "external", "register", "things", "--backend", "local", "--url",
        back.base, "--data", s.data, "--set",
        "external.connectors=" + place, "--set",
        f"http.listen=127.0.0.1:{s.http_port}")
    same(f"version {version} is registered", code, 0)


# PATCH /externals/FID, too.
back.server.RequestHandlerClass.do_PATCH = \
    back.server.RequestHandlerClass.do_POST
registered(1)
declare("v2")
registered(2)


def posted(fid, version):
    code, said = s.ask("POST", f"/external/things/task?version={version}", {
        "fid": fid, "endpoint": back.endpoint(fid),
        "params": {"kind": fid}})
    same(f"task {fid} of version {version}", code, 200)


# The back end fails for one task, which is given up; one is open at the backup.
back.reply = lambda call, number: (503, {}, None) if "given-up" in call.path \
    else None
posted("given-up", 1)
same("a task is undelivered", s.ends("given-up"), "undelivered")
spooled = s.look("given-up")["spooled"]
same("its documents are in the spool", spooled, 45)
api.delay_s = 1
posted("open", 1)
check("another one runs", wait_until(lambda: s.look("open")["cursor"], 20),
      s.look("open"))
code, out, err = ours("backup", "copy", "--data", s.data)
same("backup of a running daemon", code, 0)
s.stop()
api.delay_s = 0
paths.clear()
code, out, err = ours("backup", "--restore", "copy", "--data", "second")
same("restore", code, 0)
code, out, err = ours("external", "publish", "things", "--data", "second",
                      "--json")
same("the versions are there", [v["version"] for v in json.loads(out)[
    "versions"]], [1, 2])
tasks = json.loads(ours("external", "tasks", "--data", "second", "--json")[
    1])["tasks"]
same("the tasks are there", sorted((t["fid"], t["state"] == "undelivered")
                                   for t in tasks),
     [("given-up", True), ("open", False)])
back.reply = None
s = External("second", place, "external.retry_s_max=60")
check("the open task goes on", wait_until(lambda: s.state("open") == "done",
                                          60), s.look("open"))
same("... with all of its documents", back.ids("open"), ALL)
check("... by the connector of its version", paths and all(
    p.startswith("/v1/") for p in paths), paths)
same("redeliver", ours("external", "redeliver", "given-up", "--data",
                       "second")[0], 0)
check("... is done", wait_until(lambda: s.state("given-up") == "done", 30),
      s.look("given-up"))
same("... from the spool of the backup", back.ids("given-up"), ALL)
posted("new", 1)
same("a new task of version 1", s.ends("new"), "done")
same("... runs the connector of the backup", {p.split("/")[1] for p in paths
     if "/new?" in p}, {"v1"})
same("it ends", s.stop(), 0)
done()
