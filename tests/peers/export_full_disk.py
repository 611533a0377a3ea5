"""Exports to a disk that fills up: they fail, and the older export stays."""
import social_warc as warc
from small_disk import *

need("export_full_disk", "mount", "umount")
if os.geteuid() != 0:
    skip("export_full_disk", "only root may mount")
    done()
A = program()
why = mount(PLACE + "/disk")
if why:
    skip("export_full_disk", why)
    done()
rng = warc.generator(1)
tweets = [warc.tweet1(rng, n) for n in range(2000)]
warc.write("a.warc.gz", [warc.record(warc.FILTER, b"".join(
    warc.pack(t) + b"\n" for t in tweets))])
INTO = PLACE + "/disk/tweets"


def export(form, *words):
    return run(A, "archive", "export", form, "a.warc.gz", "--into", INTO,
               *words)


def there():
    """Names and sizes of what is at the place and beside it."""
    return sorted((name, os.path.getsize(os.path.join(folder, name)))
                  for folder, _, names in os.walk(PLACE + "/disk")
                  for name in names if name != "ballast")


code, _, err = export("csv", "--segment", "500")
check("an export with room", code == 0, err)
before = there()
same("... is there", [name for name, _ in before],
     [f"tweets_00{i}.csv" for i in (1, 2, 3, 4)])
ballast = fill(PLACE + "/disk", 200 << 10)
for words in (("json_full",), ("csv",), ("xlsx",), ("csv", "--segment", "50"),
              ("html", "--jobs", "2", "--dedupe")):
    code, _, err = export(*words)
    check(f"{' '.join(words)}: a full disk is told of", code == 74 and
          ("full" in err or "No space" in err or "are free" in err),
          f"{code}: {err}")
    same("... and the older export stays alone", there(), before)
os.unlink(ballast)
code, _, err = export("dehydrate")
check("with room again", code == 0, err)
same("... another takes its place", [name for name, _ in there()],
     ["tweets_001.txt"])
done()
