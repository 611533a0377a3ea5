"""Somebody else's replay shows our WACZ: ReplayWeb.page in a real browser.

A site is crawled and taken down; its package is then opened in Chromium.  Page,
style, picture and script must come out of the archive, links must lead on in
it, and what was not captured must be said to be missing.
"""
import struct
import zlib

from peer import *

need("replay", "nginx", "node", "npm", "chromium", files=[POSTGRESQL])
tools = node_with("playwright-1.60.0", "playwright-core@1.60.0")
viewer = npm_package("replaywebpage", "2.5.3")
if tools is None or viewer is None:
    skip("replay", "ReplayWeb.page or Playwright cannot be had from npm")
    done()


def png(width, height):
    """A picture of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    lines = (b"\0" + b"\x20\x80\x40" * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


PAGE = """<!DOCTYPE html><html lang=en><meta charset=utf-8><title>%s</title>
<link rel=stylesheet href=/style.css><script src=/script.js></script>
<h1>%s</h1><p>%s</p><img src=%s alt=spider>"""

os.makedirs("site/left")
with open("site/spider.png", "wb") as f:
    f.write(png(37, 23))
with open("site/style.css", "w") as f:
    f.write("h1 { color: rgb(1, 102, 203) }\n")
with open("site/script.js", "w") as f:
    f.write("document.documentElement.dataset.made = '6' + 7;\n")
with open("site/index.html", "w") as f:
    f.write(PAGE % ("Hub", "The hub of the web",
                    "Argiope sits here, écrit en été.", "/spider.png") +
            "<a href=moved>on</a> <a href=left/out.html>out</a>")
with open("site/second.html", "w") as f:
    f.write(PAGE % ("Spiral", "The second page", "It came compressed. " * 50,
                    "'/spider.png?size=2&turn=1'") +
            "<a href=/pg/index.html>documentation</a>")
with open("site/left/out.html", "w") as f:
    f.write(PAGE % ("Out", "Left out", "Nobody was here.", "/spider.png"))
os.symlink(POSTGRESQL, "site/pg")
site = Nginx("nginx-site", PLACE + "/site", more="""
    gzip on; gzip_min_length 1;
    location = /moved { return 302 /second.html; }
""")
name = "http://site.test/"
c = crawl([name, "--allow-private", "--delay", "0", "--exclude", "/left/",
           "--set", f"fetch.resolve=site.test:80:127.0.0.1:{site.port}"],
          "data", seconds=40)
same("the crawl is complete", (c.code, c.last().get("event")),
     (0, "completed"))
asked = {uri for _, uri in site.requests()}
check("one page was left out", not [u for u in asked if "left" in u], asked)
end(site.child)

code, out, err = ours("archive", "wacz", "--data", c.data, "--title", "Replay",
                      PLACE + "/served.wacz")
check("archive wacz", code == 0, f"{code}: {err}")
os.makedirs("served")
os.rename("served.wacz", "served/site.wacz")
for part in ("index.html", "ui.js", "sw.js", "adblock"):
    found = os.path.join(viewer, part)
    if os.path.exists(found):
        os.symlink(found, "served/" + part)
web = Nginx("nginx-replay", PLACE + "/served")
began = time.monotonic()
code, out, err = run(
    "node", HERE + "/replay.js", tools, shutil.which("chromium"), web.url,
    web.url + "site.wacz", name, "left/out.html", "moved", "second.html",
    "pg/index.html", "pg/index.html", seconds=120,
    env=dict(os.environ, HOME=PLACE))
if not check("the browser shows all of it", code == 0, err[-500:]):
    done()
told = json.loads(out)
first, second, later, absent = told["pages"]
check("the first page's text", "The hub of the web" in first["text"] and
      "écrit en été" in first["text"], first["text"])
same("... its title, its style, what its script did",
     (first["title"], first["color"], first["made"]),
     ("Hub", "rgb(1, 102, 203)", "67"))
picture = {"width": 37, "height": 23, "complete": True}
same("... its picture", first["images"], [picture])
check("a link leads through a redirect to the second page",
      "The second page" in second["text"] and second["title"] == "Spiral",
      second["text"])
same("... its style, and a picture with a query",
     (second["color"], second["images"]), ("rgb(1, 102, 203)", [picture]))
check("a link leads to a page of a real site",
      "PostgreSQL 1" in later["text"] and
      "Table of Contents" in later["text"], later["text"])
check("what is not in the archive is said to be missing",
      "Nobody was here" not in absent["text"] and
      "left/out.html" in absent["text"], absent["text"])
check("no page made an error", not told["said"], told["said"])
check("nobody else was asked", not told["outside"], told["outside"])
check("the package was read by ranges", any(
    status == 206 and "site.wacz" in uri for status, uri in web.requests()))
note(f"Chromium {told['version']}, {time.monotonic() - began:.1f} s; "
     f"{len(c.urls())} captures")
done()
