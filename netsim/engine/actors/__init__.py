"""One run on many processes and machines: the event loop in one, learning in actors.

An *actor* owns a shard of the nodes: their samples, and the rows of what their jobs compute. The
event loop sends it levels of jobs and never a tensor that another actor has: such rows go from
actor to actor when a job reads them. Jobs are pure functions of rows, names of minibatches and
counter-based draws, so it does not matter where one runs, nor whether it runs again.
"""
