"""Work that needs a summary: compactions, and branches that leave something behind."""
