"""The server against a sandbox: `npm test` starts one for it."""

import json
import logging
import threading
import time
import unittest
from typing import Any

from app.beacons import retry_after
from app.placement_request import JOB_TYPES
from app.server import Server
from app.service import Answer
from tests.sandbox import Visitor, control, settings


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        logging.disable()
        cls.server = Server(settings, port=0)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.shutdown()
        cls.server.server_close()

    def tearDown(self) -> None:
        control("DELETE", "faults")
        control("DELETE", "scenarios")

    def visitor(self) -> Visitor:
        return Visitor(self.server.server_port)

    def consenting(self, **purposes: bool) -> Visitor:
        visitor = self.visitor()
        answer = visitor.post("/api/consent", {"decision": "granted", **purposes})
        self.assertEqual(answer.body["authoritative_consent"]["lifecycle_state"], "granted")
        return visitor

    def test_every_job_type_gets_a_labelled_placement(self) -> None:
        for job_type in JOB_TYPES:
            with self.subTest(job_type):
                answer = self.consenting().post("/api/placement", {"job_type": job_type})
                self.assertEqual(answer.status, 200)
                self.assertTrue(answer.body["decision"]["fill"])
                self.assertTrue(answer.body["placement"]["ad_label_text"])

    def test_without_consent_nothing_is_requested(self) -> None:
        def count() -> int:
            return control("POST", "requests/count", {"method": "POST", "path": "/v1/placements"})["count"]

        before = count()
        answer = self.visitor().post("/api/placement", {"job_type": "chat"})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.body["decision"]["no_fill_reason"], "consent_not_granted")
        self.assertEqual(count(), before)

    def test_a_withdrawal_holds_also_when_the_service_cannot_be_told(self) -> None:
        visitor = self.consenting()
        control("POST", "faults", {"path": "/v1/consent", "status": 503})
        self.assertEqual(visitor.post("/api/consent", {"decision": "withdrawn"}).status, 503)
        answer = visitor.post("/api/placement", {"job_type": "chat"})
        self.assertEqual(answer.body["decision"]["no_fill_reason"], "consent_not_granted")

    def test_topic_and_text_leave_the_server_as_far_as_was_consented_to(self) -> None:
        self.assertIsNone(self.sent_prompt(self.consenting()))
        self.assertEqual(self.sent_prompt(self.consenting(semantic_targeting=True)), {"topic": "coffee"})
        self.assertEqual(list(self.sent_prompt(self.consenting(prompt_shared=True))), ["text"])

    def sent_prompt(self, visitor: Visitor) -> Any:
        """The prompt as the sandbox received it: of a text, it stores only that there was one."""
        prompt = {"topic": "coffee", "text": "Which grinder?"}
        answer = visitor.post("/api/placement", {"job_type": "chat", "prompt": prompt})
        exchange = control("GET", f"requests/{answer.headers['X-Request-Id']}")
        return json.loads(exchange["request_body"]).get("prompt")

    def test_a_no_fill_is_an_answer_like_any_other(self) -> None:
        control("POST", "scenarios/no_fill")
        answer = self.consenting().post("/api/placement", {"job_type": "chat"})
        self.assertEqual(answer.status, 200)
        self.assertIsNone(answer.body["placement"])
        self.assertFalse(answer.body["decision"]["fill"])

    def test_a_pending_decision_is_polled_by_its_own_session_only(self) -> None:
        control("POST", "scenarios/pending_then_ready")
        visitor = self.consenting()
        first = visitor.post("/api/placement", {"job_type": "chat"}).body
        self.assertEqual(first["status"], "pending")
        path = f"/api/placement?slot_id={first['slot_id']}&wait_ms=3000"
        self.assertEqual(self.consenting().get(path).status, 404)
        second = visitor.get(path).body
        self.assertEqual(second["status"], "ready")
        self.assertTrue(second["decision"]["fill"])

    def test_an_error_goes_to_the_page_with_its_retry_after_and_is_not_retried_here(self) -> None:
        visitor = self.consenting(semantic_targeting=True)
        control("POST", "faults", {"path": "/v1/placements", "status": 429, "retry_after_s": 7, "times": 1})
        answer = visitor.post("/api/placement", {"job_type": "voice", "prompt": {"topic": "limits"}})
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "7"))
        self.assertEqual(visitor.post("/api/placement", {"job_type": "chat"}).status, 200)

    def test_a_service_that_is_away_or_talks_nonsense_is_a_502_and_not_a_crash(self) -> None:
        visitor = self.consenting(semantic_targeting=True)
        for effect in ("reset", "truncate", "garble"):
            with self.subTest(effect):
                control("POST", "faults", {"path": "/v1/placements", "effect": effect, "times": 1})
                # Each is another request: the same one would be repeated without a pause.
                body = {"job_type": "chat", "prompt": {"topic": f"to {effect}"}}
                self.assertEqual(visitor.post("/api/placement", body).status, 502)

    def test_beacons_are_forwarded_once_each_and_again_after_a_429_with_retry_after(self) -> None:
        visitor = self.consenting()
        placed = visitor.post("/api/placement", {"job_type": "agent"}).body
        slot_id, asset_token = placed["slot_id"], placed["placement"]["asset_token"]
        control("POST", "faults", {"path": "/v1/beacons", "status": 429, "retry_after_s": 1, "times": 1})
        for event in ("render", "visible"):
            ids = {"beacon_id": f"{slot_id}:{event}", "slot_id": slot_id, "asset_token": asset_token}
            seen = {"occurred_at_ms": int(time.time() * 1000), "measurements": {"visible_ratio": 1, "visible_ms": 1000}}
            beacon = {**ids, **seen, "event": event, "not_a_member": 1}
            self.assertTrue(visitor.post("/api/beacons", beacon).body["accepted"])
        items = control("GET", f"beacons?slot_id={slot_id}")["items"]
        self.assertEqual(sorted(item["event"] for item in items), ["render", "visible"])

    def test_bad_requests_are_the_callers_mistakes(self) -> None:
        visitor = self.consenting()
        self.assertEqual(visitor.post("/api/placement", {"job_type": "song"}).status, 400)
        self.assertEqual(visitor.post("/api/consent", {"decision": "perhaps"}).status, 400)
        self.assertEqual(visitor.post("/api/consent", ["granted"]).status, 400)
        self.assertEqual(visitor.get("/api/placement?slot_id=slot_unknown").status, 404)
        self.assertEqual(visitor.get("/../app/settings.py").status, 404)


class RetryTest(unittest.TestCase):
    def test_a_429_waits_as_retry_after_says_and_is_final_without(self) -> None:
        date = "Sat, 31 Jan 2026 12:00:00 GMT"
        later = {"Retry-After": "Sat, 31 Jan 2026 12:00:03 GMT", "Date": date}
        self.assertEqual(retry_after(Answer(429, {}, {"Retry-After": "2"}), 1), 2)
        self.assertEqual(retry_after(Answer(429, {}, later), 1), 3)
        self.assertIsNone(retry_after(Answer(429, {}), 1))
        self.assertIsNone(retry_after(Answer(429, {}, {"Retry-After": "3600"}), 1))
        self.assertIsNone(retry_after(Answer(400, {}, {"Retry-After": "1"}), 1))
        self.assertEqual(retry_after(Answer(503, {}), 2), 0.5)
