"""The two web pages of the 2016 server, unmodified, in Chromium against us.

ARGIOPE_STARBELLY names the folder that has crawler-ui.html and items-ui.html of
that time, with their scripts.  What they load from elsewhere comes from npm.
"""
import shutil

from realtime_peer import *

PAGES = "crawler-ui.html crawler-ui.js items-ui.html items-ui.js ui.css".split()
PACKAGES = "playwright-core@1.60.0", "jquery@3.0.0", "materialize-css@0.97.6"
NAME = "realtime_2016"

begin(NAME, "node", "npm", "chromium")
folder = os.environ.get("ARGIOPE_STARBELLY")
if folder is None:
    skip(NAME, "ARGIOPE_STARBELLY does not name the pages")
    done()
need(NAME, files=[os.path.join(folder, p) for p in PAGES])
tools = node_with(NAME, *PACKAGES)
if tools is None:
    skip(NAME, "npm has no Playwright, jQuery or Materialize for us")
    done()

web = Web()
seed = web.star("old.test", 6)
web.put("old.test", "/gone", ok("<html>gone</html>", status=404))
web.put("old.test", "/", ok(html(*[f"/{i}" for i in range(6)], "/gone")))
server = Server("old", "realtime.origins=null", hosts={"old.test": web.port})
child = subprocess.Popen(
    ["node", HERE + "/realtime_2016.js", tools, shutil.which("chromium"),
     os.path.abspath(folder), str(server.port), seed],
    env=dict(os.environ, HOME=PLACE), text=True, bufsize=1,
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
children.append(child)
for line in child.stdout:
    m = json.loads(line)
    if m["name"] == "restart":
        server.restart(kill=True)
        child.stdin.write("\n")
        child.stdin.flush()
    else:
        check(m["name"], m["fine"], m["why"])
same("the browser ends", child.wait(), 0)
same("SIGTERM ends the daemon", server.stop(), 0)
done()
