"""The service over HTTP, on Starlette: a thin layer over ``clasher.service.Engine``.

A request passes ``security.Security`` (origin, host, response headers), ``limits.Bounded`` (sizes
and times) and Starlette's router to one of the operations of ``routes``. Each operation declares
its scope, its request and its answer; the routes and the OpenAPI document are made from that.
"""
