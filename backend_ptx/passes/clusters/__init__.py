"""Blocks of a tile program that span the CTAs of a cluster: which tiles are cut, shared by multicast, exchanged."""
