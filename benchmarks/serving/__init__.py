"""Load tests of ``clasher serve`` over loopback, all in one run."""
