"""What the published algorithms of one family have in common."""
