"""An audit on disk: what is asked for, the folder it lives in, and model files."""
