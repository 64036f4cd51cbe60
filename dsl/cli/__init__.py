"""The command line `tilewright`."""
