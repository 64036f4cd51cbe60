"""Blocks of a tile program that map to CTA clusters: tiles are cut, multicast, or exchanged between CTAs."""
