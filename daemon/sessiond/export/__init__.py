"""A session as a page that people read: one self-contained HTML file."""
