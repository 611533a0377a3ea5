#!/bin/bash
exec python3 "${0%_java.sh}.py" java
