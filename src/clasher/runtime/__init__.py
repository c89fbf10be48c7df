"""The layer below ``service``, ``flow`` and the Spark adapter: folders, snapshots, quality."""
