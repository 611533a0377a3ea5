#!/bin/bash
# Exports by message: RabbitMQ, kombu, and an interface of SFM's with its suite.
exec python3 "${0%.sh}.py" "$@"
