"""The content of entries: previews, search texts, Markdown, touched files, blobs."""
