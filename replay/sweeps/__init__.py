"""Sweeps: replays of one trace under many policies, over several processes, resumable after an interruption."""
