"""Tests of cues: does the model rely on what gives the label away?"""
