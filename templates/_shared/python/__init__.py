"""The chat server: the placements that it shows are requested here."""
