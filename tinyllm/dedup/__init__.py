"""What was said before: exactly, as an earlier state of a conversation, or nearly."""
