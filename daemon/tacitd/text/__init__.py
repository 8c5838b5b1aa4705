"""Rules for text as such: sanitising and redacting. Pure; imports nothing of tacitd outside this package."""
