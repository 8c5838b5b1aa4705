"""What is done with an event: one folder for each system. The engine, `tacitd`, names none of them."""
