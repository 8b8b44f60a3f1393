"""Pictures for docs/gallery.md, of a run and of its web page."""
