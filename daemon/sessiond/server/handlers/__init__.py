"""The handlers of the methods, one function each.

Params are decoded before the call, errors are reported after it, and the hub does the work. A handler answers within
the call where it can. A handler that must wait is a coroutine. A handler that appends to a log answers through
`Pending`, so that responses and notifications have the order of the log without a task for each request.
"""
