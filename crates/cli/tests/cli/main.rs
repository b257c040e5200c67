//! Drives the built command, as a user would.
