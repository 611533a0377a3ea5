"""airbyte_source.py URL -- all documents of bench/external's paged API, by
airbyte-cdk's declarative source, as messages on standard output.
"""
import json
import os
import sys
import tempfile

from airbyte_cdk.entrypoint import launch
from airbyte_cdk.sources.declarative.concurrent_declarative_source import \
    ConcurrentDeclarativeSource

SCHEMA = {"type": "object", "required": ["id", "name"], "properties": {
    "id": {"type": "integer"}, "name": {"type": "string"}}}
STREAM = {
    "type": "DeclarativeStream", "name": "c", "primary_key": ["id"],
    "schema_loader": {"type": "InlineSchemaLoader", "schema": SCHEMA},
    "retriever": {
        "type": "SimpleRetriever",
        "requester": {
            "type": "HttpRequester", "url_base": sys.argv[1], "path": "",
            "http_method": "GET", "request_parameters": {"kind": "k"}},
        "record_selector": {"type": "RecordSelector", "extractor": {
            "type": "DpathExtractor", "field_path": ["items"]}},
        "paginator": {
            "type": "DefaultPaginator",
            "page_token_option": {
                "type": "RequestOption", "inject_into": "request_parameter",
                "field_name": "after"},
            "pagination_strategy": {
                "type": "CursorPagination",
                "cursor_value": "{{ response.get('next') }}",
                "stop_condition": "{{ not response.get('next') }}"}}}}
MANIFEST = {
    "version": "6.0.0", "type": "DeclarativeSource", "streams": [STREAM],
    "check": {"type": "CheckStream", "stream_names": ["c"]},
    "spec": {"type": "Spec", "connection_specification": {
        "type": "object", "properties": {}}}}
CATALOG = {"streams": [{
    "stream": {"name": "c", "json_schema": SCHEMA,
               "supported_sync_modes": ["full_refresh"]},
    "sync_mode": "full_refresh", "destination_sync_mode": "append"}]}

with tempfile.TemporaryDirectory() as place:
    paths = [os.path.join(place, name) for name in ("config", "catalog")]
    for path, value in zip(paths, ({}, CATALOG)):
        with open(path, "w") as f:
            json.dump(value, f)
    source = ConcurrentDeclarativeSource(catalog=None, config={}, state=None,
                                         source_config=MANIFEST)
    launch(source, ["read", "--config", paths[0], "--catalog", paths[1]])
