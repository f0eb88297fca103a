"""What a reader of the results should know about the data: what is wrong, and what to ask next.

- `check`: what is wrong with a study. `suggest`: the pairs worth asking next.
- `guarantees`: what may be claimed, and under which conditions.
- `verdicts`: the one verdict on each annotator. `influence`: what leaving one out would change.
- `power`: how many judgments a study needs.

`advising` combines what the report needs. Nothing is loaded here: whoever asks for pairs does not
wait for the checks.
"""
