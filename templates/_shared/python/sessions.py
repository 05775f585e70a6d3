"""The user: a random session in a cookie, and the consent of that session. Kept in memory."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

MOST_SESSIONS = 10_000


@dataclass
class Session:
    id: str
    # The service's snapshot of consent. None: nothing is known, so nothing is permitted.
    consent: dict[str, Any] | None = None
    # Slots requested in this session; nobody else may poll them.
    slot_ids: set[str] = field(default_factory=set)

    def granted_consent(self, now_ms: float) -> dict[str, Any] | None:
        """The consent while it is granted and has not expired; None otherwise, in which case nothing is requested."""
        consent = self.consent
        if consent is None or consent["lifecycle_state"] != "granted" or consent["expires_at_ms"] <= now_ms:
            return None
        return consent


class Sessions:
    """Sessions by their id. In production, use your own session store."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, session_id: str | None) -> Session | None:
        with self._lock:
            return self._sessions.get(session_id or "")

    def begin(self) -> Session:
        session = Session(secrets.token_hex(16))
        with self._lock:
            self._sessions[session.id] = session
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session
