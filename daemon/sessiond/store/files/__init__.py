"""Logs in files: folders, permissions, group commit, trash, breadcrumbs."""
