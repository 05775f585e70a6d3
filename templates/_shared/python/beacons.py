"""Beacons of clients that do not use render.js, forwarded with this server's credential."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from .service import Answer, Service

# The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon.
MEMBERS = (
    "beacon_id",
    "asset_token",
    "event",
    "occurred_at",
    "occurred_at_ms",
    "slot_id",
    "render_instance_id",
    "seq",
    "consent_revision",
    "measurements",
    "metadata",
)
MOST_TRIES = 3
LONGEST_WAIT_S = 10


def read_beacon(body: Mapping[str, Any]) -> dict[str, Any]:
    """A beacon with only the fields of a beacon; the rest of `body` is dropped."""
    return {name: body[name] for name in MEMBERS if name in body}


def forward_beacon(service: Service, beacon: Mapping[str, Any]) -> Answer:
    """Sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After.

    The same `beacon_id` counts once, so a retry cannot bill twice. Any other 4xx is final.
    """
    for tries in range(1, MOST_TRIES + 1):
        answer = service.post("/v1/beacons", beacon)
        wait_s = retry_after(answer, tries)
        if wait_s is None or tries == MOST_TRIES:
            break
        time.sleep(wait_s)
    return answer


def retry_after(answer: Answer, tries: int) -> float | None:
    """Seconds until the next attempt, or None for none."""
    header = answer.headers.get("Retry-After")
    if answer.status != 429 and answer.status < 500:
        return None
    if header is None:
        return tries * 0.25 if answer.status >= 500 else None
    wait_s = float(header) if header.isdigit() else seconds_until(header, answer.headers.get("Date"))
    return wait_s if wait_s is not None and 0 <= wait_s <= LONGEST_WAIT_S else None


def seconds_until(date: str, now: str | None) -> float | None:
    """Seconds from the service's `Date` header to an HTTP date; None when either cannot be read."""
    try:
        return (parsedate_to_datetime(date) - parsedate_to_datetime(now or "")).total_seconds()
    except (TypeError, ValueError):
        return None
