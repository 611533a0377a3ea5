"""sfm_export.py SOURCES OUT FILE... -- tweets of API v1.1 as csv, by the
exporter of Social Feed Manager itself.

SOURCES contains sfm-utils and sfm-twitter-harvester.  The files are named here
instead of asked for, and no message is sent; the rest is SFM's.
"""
import os
import shutil
import sys

sources, out, *paths = sys.argv[1:]
into = out + ".sfm"
for name in ("sfm-utils", "sfm-twitter-harvester"):
    sys.path.insert(0, os.path.join(sources, name))
from twitter_rest_exporter import TwitterRestExporter         # noqa: E402

exporter = TwitterRestExporter("http://127.0.0.1:9", into)
exporter._get_warc_paths = lambda *_: paths
exporter._publish_message = lambda *_: None
exporter.routing_key = "export.start.twitter.twitter_search"
exporter.message = {"id": "bench", "type": "twitter_search", "format": "csv",
                    "collection": {"id": "bench"}, "segment_size": None,
                    "path": os.path.join(into, "made")}
exporter.on_message()
os.rename(os.path.join(into, "made", "bench_001.csv"), out)
shutil.rmtree(into)
sys.exit(not exporter.result.success)
