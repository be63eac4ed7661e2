"""What everything stands on: rules of parameters, names, random generators, progress, the base of all
estimators.
"""
