"""The journal of runs: answers, events, dialogues and the runs themselves."""
