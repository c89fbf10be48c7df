"""Load tests of ``clasher serve`` over loopback."""
