#!/bin/bash
# Users who sign in through a popup, in Chromium, at three providers.
exec python3 "${0%.sh}.py" "$@"
