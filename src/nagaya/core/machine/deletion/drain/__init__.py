"""Emptying a Node before its machine goes: no new pods, and those that are there are asked to leave.

`judgement` says what becomes of each pod, `turns` whose turn it is, `evictions` asks them, `report` tells about it, and
`drain` puts these together. All but the last two and the reading of pods are pure.
"""
