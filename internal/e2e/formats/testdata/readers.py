"""Reads documents with Python's parsers. The standard input is a list of [kind, text], and so is the output."""
import configparser
import json
import sys
import tempfile
import tomllib

import dotenv
import psycopg2.extensions


def read_ini(text):
    parser = configparser.RawConfigParser()
    parser.optionxform = str
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def read_dotenv(text):
    with tempfile.NamedTemporaryFile("w", newline="", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return dict(dotenv.dotenv_values(file.name))


readers = {"ini": read_ini, "dotenv": read_dotenv, "toml": tomllib.loads, "libpq": psycopg2.extensions.parse_dsn}
json.dump([readers[kind](text) for kind, text in json.load(sys.stdin)], sys.stdout)
