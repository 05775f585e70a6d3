"""Fixtures for pytest: `npx --no svc-sandbox exec -- python3 -m pytest` runs the same tests as `npm test`."""

from .svc_sandbox import svc_sandbox, svc_sandbox_session  # noqa: F401
