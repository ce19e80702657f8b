"""Many nodes in one call: stacked forms of models, and the backend that runs jobs with them."""
