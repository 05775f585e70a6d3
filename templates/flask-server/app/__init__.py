"""The chat server: the placements that it shows are requested here."""

from importlib.util import find_spec

if find_spec("flask") is None:
    raise SystemExit("Flask is not installed. Install it: python3 -m pip install -r requirements.txt")
