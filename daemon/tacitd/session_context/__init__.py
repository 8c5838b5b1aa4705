"""What tacitd adds to a session at its start: the request that plugins answer, the sections together, what was shown before.

Who asks for it (`tacitd context`, a client's hook) is not decided here.
"""
