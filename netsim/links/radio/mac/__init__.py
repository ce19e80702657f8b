"""Medium access: queues, channel access, contention, frame exchanges and their retries."""
