"""Where the index keeps what it has seen: memory, SQLite or PostgreSQL, behind one contract."""
