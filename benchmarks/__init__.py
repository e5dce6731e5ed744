"""What phase 1 must reach: each benchmark prints its figures with their bars."""
