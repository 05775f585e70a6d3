"""Tests against a sandbox that npm test starts."""
