"""Many replays of one trace, over several processes, which go on where they were interrupted."""
