//! Lines of a session file: header, event, packed chunks.
