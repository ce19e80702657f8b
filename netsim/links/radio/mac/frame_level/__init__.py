"""CSMA/CA played frame by frame, as the standard describes the DCF (IEEE 802.11-2016, 10.3).

`sampler` takes messages from the link and reports what became of them. Each node has a `Station`
(`station`): it cuts a message into data frames, waits for its turn (`contention`), sends, and
answers what it receives. The `Medium` (`medium`) brings each frame to the stations that can hear it
(`hearing`), whose `Receiver` (`receiver`) locks to one frame at a time and decodes it by its SINR.

Nothing here uses the means of `netsim.channels.mac.csma`, only its parameters: the two are to be
compared with each other.
"""
