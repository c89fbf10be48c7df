"""The service under load: requests over loopback against ``clasher serve``, in one run."""
