"""The union of two logs of one session: comparable lines, their digest, and the merge of what lines say."""
