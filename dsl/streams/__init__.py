"""Streams and events of ours: tw.Stream and tw.Event."""
