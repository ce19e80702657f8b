"""Parts of learning methods: protocols over lossy links, rounds, stars, augmented images.

`netsim.api` gives all of it to algorithm files.

- `declaration`: what an algorithm states about itself (schedules, servers, values);
- `messages`: messages that carry a model;
- `inbox`: what a node has from its peers in a round, and what an absent peer means;
- `local_training`, `rounds`: train, send, combine, adopt, with a server or without (FedAvg and its
  relatives);
- `sampling`: who takes part in a round where a part of the nodes does;
- `personal`: the same where every node is answered with a value of its own;
- `star`: the star exchange of KD-PDFL and its baselines;
- `subscriptions`, `edges`, `collaborators`: how a receiver tells a sender whether to send. A
  subscription is asked for until it is acknowledged (DPFL), an edge is opened and closed by a word
  that goes out in an exchange of its own (MAPL), a set of collaborators only shrinks and tells
  those that it drops at once (L2C). They differ in what is on the air and when;
- `downloads`: models pulled from peers, at most so many at once (DPFL);
- `crop_flip`, `augmentation`, `contrastive`: augmented images and losses on them.
"""
