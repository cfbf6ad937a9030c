"""What single entries say: text for people, searches and documents; blobs taken out and put back."""
