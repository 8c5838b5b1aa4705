"""Rules for text: sanitising, redacting, shortening. Pure; imports nothing of tacitd outside this package."""
