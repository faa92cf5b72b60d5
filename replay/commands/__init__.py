"""The commands of the command line that replay, one file each."""
