#!/bin/bash
# external.archive: what tasks ask, in WARC files, through kills, without secrets.
exec python3 "${0%.sh}.py" "$@"
