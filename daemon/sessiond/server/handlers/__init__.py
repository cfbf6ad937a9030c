"""One function a method: decoding is done, errors are not handled here, the hub does the work.

A handler answers at once where it can; where it must wait it is a coroutine; what adds to a log answers
through `Pending`, so that reply and publication keep the order of the log without a task for each.
"""
