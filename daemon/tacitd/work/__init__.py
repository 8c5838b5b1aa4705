"""From bytes to finished work: one pass of the reader, prompts, tasks, and the workers that run them."""
