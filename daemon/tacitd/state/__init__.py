"""Where tacitd keeps its state: the paths, the layout and schema of the state directory, and the write modes."""
