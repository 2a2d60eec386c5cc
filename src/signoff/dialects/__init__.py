"""Dialects: pure translators between foreign documents and the nouns of signoff."""
