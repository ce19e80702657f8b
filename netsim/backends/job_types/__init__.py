"""Job types, one a file: the work's description, how one job runs, and how groups of jobs run.

To add one, add a file here (or anywhere that is imported before such jobs are recorded) with

- a frozen class that describes the work, with `describe()` for error messages; if its results come
  from a function of the algorithm's, that is its `function`;
- `run_one(job, plain)`, which gives the results of one job in plain PyTorch;
- where groups of jobs can run in one call, a `GroupKernel` for each backend that can: which jobs
  may share a call (`signature`) and what runs them (`prepare`);
- a call of `netsim.backends.job_type.register`.

`loss.py` is an example. A backend may bring kernels of its own for the types here
(`netsim.backends.job_type.offer_kernel`).
"""
