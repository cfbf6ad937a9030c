"""Lines in files: folders, rights, group commit, breadcrumbs."""
