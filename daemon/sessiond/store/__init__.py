"""Storage of logs and blobs. A store handles bytes and ids and knows no entry types."""
