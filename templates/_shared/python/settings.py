"""The service's URL, and this project's key for it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class SettingsError(Exception):
    """A required setting is missing from the environment."""


@dataclass(frozen=True)
class Settings:
    base_url: str
    client_id: str
    secret_key: str = field(repr=False)
    port: int = 3000


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Reads the environment. Raises SettingsError with everything that is missing, before anything starts."""
    names = ("SVC_BASE_URL", "SVC_CLIENT_ID", "SVC_SECRET_KEY")
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise SettingsError(f"{', '.join(missing)} not set. Try: cp .env.example .env, or npm run dev")
    base_url, client_id, secret_key = (environment[name] for name in names)
    if not secret_key.startswith("sk_"):
        raise SettingsError("SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser.")
    return Settings(base_url.rstrip("/"), client_id, secret_key, int(environment.get("PORT", "3000")))


def load_env_file(path: Path = Path(".env")) -> None:
    """Adds the NAME=value lines of a file to the environment; what is set there already wins."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.lstrip().startswith("#"):
            os.environ.setdefault(name.strip(), value.strip().strip("\"'"))
