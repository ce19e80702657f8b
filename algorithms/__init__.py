"""One learning method a file; netsim finds them by file name.

Files that begin with an underscore are what several methods share:

- `_inbox`: what a node has from its peers in a round, and what an absent one means;
- `_rounds`: train, send, combine, adopt, with a server or without (FedAvg and its relatives);
- `_star`: the star exchange of KD-PDFL and its baselines;
- `_subscriptions`, `_downloads` (DPFL), `_edges` (MAPL), `_circle` (L2C, meta-L2C): who sends to
  whom, over links that lose messages;
- `_crop_flip`, `_augment`, `_contrastive`: augmented images and losses on them;
- `_encoder`: the network that meta-L2C compares updates with.
"""
