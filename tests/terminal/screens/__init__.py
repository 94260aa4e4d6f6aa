"""qkv at a terminal: what it draws, which keys it knows, and the same by lines."""
