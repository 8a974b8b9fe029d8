"""The public names of wings, which `zabcheck` has where these are installed. Start with `proofs/`."""
