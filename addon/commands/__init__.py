"""The commands of the command line that concern the proxy, one file each."""
