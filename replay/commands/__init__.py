"""The commands `replay`, `recommend`, `plan`, `convert` and `papers`, one file each, and their options."""
