"""The console in a real browser: Chromium, by playwright-core.

A person starts a crawl, watches pages come, filters, leaves out a calendar with
its preview, pauses, resumes, opens a page, cancels; then every view is looked
at in two widths and both themes, with axe-core; then with tokens, over a
restart of the server, and for a while with many pages.  No console error, no
failed request, nobody else asked, nothing of what the web says ever run.

CONSOLE_SHOTS=FOLDER keeps the screenshots; CONSOLE_SECONDS=600 watches the
memory of a tab for that long (10 s).
"""
from console_server import *

browser = Browser("console")
drive = browser.drive
site = Site()
server = Server(site, "data")
drive("story", server)
with open("outside", "w") as f:
    f.writelines(f"http://outside.test/{n}\n" for n in range(7))
code, out, err = ours("frontier", "-p", server.where("urlfrontier").rsplit(
    ":", 1)[1], "PutURLs", "-f", "outside", "-c", "of outsiders")
check("an outsider puts URLs", code == 0, err)
drive("views", server, crawl=0)


def listens_at(host, port):
    with socket.socket() as s:
        return s.connect_ex((host, port)) == 0


def restart():
    server.stop()
    return "stopped"


def again():
    server.start()
    return "started"


drive("lost", server, {"stop": restart, "start": again})

# A hundred thousand pages at full speed, where the web of the benches is built.
many = {"site": "http://site.test/", "delay": "0.03"}
web = built("bench/pages")
if os.access(web, os.X_OK):
    port = free_port()
    start([web, "--hosts", "1", "--first", "127.1.0.1", "--port", str(port)],
          stdout=subprocess.DEVNULL)
    wait_until(lambda: listens_at("127.1.0.1", port))
    many = {"site": f"http://127.1.0.1:{port}/web/100000/6/0", "delay": "0",
            "pages": 20000}
else:
    note("bench/pages is not built: the long list is a short one")
drive("long", server, watch=int(os.environ.get("CONSOLE_SECONDS", "10")),
      **many)


def token(name, scope):
    code, out, err = ours("token", "add", name, "--scope", scope, "--data",
                          server.data)
    check(f"a token of scope {scope}", code == 0, err)
    return out.strip()


reader = token("reader", "console:read,realtime:read")
writer = token("writer", "console:write,realtime:write")
drive("token", server, reader=reader, writer=writer)
server.stop()
said = open(os.path.join(PLACE, "serve.err")).read()
check("the server's log has no token", reader not in said and
      writer not in said)
check("the server ended by itself", server.child.returncode == 0,
      server.child.returncode)
done()
