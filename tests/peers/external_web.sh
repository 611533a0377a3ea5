#!/bin/bash
# web_crawl at the external door: a site as documents, then what has changed.
exec python3 "${0%.sh}.py" "$@"
