"""Bets and evidence, which may be looked at at any time."""
