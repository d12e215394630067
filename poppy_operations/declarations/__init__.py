"""What a site declares: its actions, the terms of one request, and what its code can say."""
