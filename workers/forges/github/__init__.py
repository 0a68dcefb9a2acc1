"""GitHub, of the world or of an enterprise: requests by its API, commits by git over HTTPS."""
