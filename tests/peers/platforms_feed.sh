#!/bin/bash
exec bash "$(dirname "$0")/python.bash" feedparser "${0%.sh}.py"
