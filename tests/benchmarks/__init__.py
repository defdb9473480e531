"""What measures: its arithmetic."""
