"""Turns the page's request into the service's: the one place that decides which data leaves this server."""

from collections.abc import Mapping
from typing import Any

# The slot position of each kind of work, and the formats that suit it.
SURFACES: dict[str, dict[str, Any]] = {
    "chat": {"slot_hint": {"position": "below"}, "overrides": {"allowed_formats": ["native", "banner"]}},
    "code": {
        "slot_hint": {"position": "sidebar", "max_width": 300, "max_height": 250},
        "overrides": {"allowed_formats": ["banner"]},
    },
    "image": {"slot_hint": {"position": "between", "max_width": 640}, "overrides": {"allowed_formats": ["clip"]}},
    "voice": {"slot_hint": {"position": "above"}, "overrides": {"allowed_formats": ["banner", "native"]}},
    "agent": {
        "slot_hint": {"position": "inline"},
        "overrides": {"allowed_formats": ["native"], "native_template_id": "list_item"},
    },
}
JOB_TYPES = tuple(SURFACES)


def placement_request(
    body: Mapping[str, Any], client_id: str, session_id: str, purposes: Mapping[str, bool]
) -> dict[str, Any] | None:
    """The body of POST /v1/placements, or None when the page names no job type.

    The topic goes along only with consent to semantic targeting, the text of the prompt only with consent to share it.
    """
    job_type = body.get("job_type")
    if job_type not in JOB_TYPES:
        return None
    prompt = body.get("prompt")
    given = prompt if isinstance(prompt, dict) else {}
    shared = {}
    if purposes.get("semantic_targeting") is True and isinstance(given.get("topic"), str):
        shared["topic"] = given["topic"][:200]
    if purposes.get("prompt_shared") is True and isinstance(given.get("text"), str):
        shared["text"] = given["text"][:8_000]
    request = {"client_id": client_id, "session_id": session_id, "job_type": job_type, **SURFACES[job_type]}
    return {**request, "prompt": shared} if shared else request
