#!/bin/bash
# The Debian package is the system's Python's; another may come first in PATH.
python=python3
/usr/bin/python3 -c 'import websockets' 2>/dev/null && python=/usr/bin/python3
exec "$python" "${0%.sh}.py" "$@"
