"""The table of every instruction that the backend emits as inline assembly."""
