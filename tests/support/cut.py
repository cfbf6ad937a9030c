"""A connection that is cut in the middle of the stream."""

CUT = """
import os, subprocess, sys
left, process = int(sys.argv[1]), subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
while left > 0 and (data := os.read(0, min(left, 65536))):
    process.stdin.write(data)
    process.stdin.flush()
    left -= len(data)
process.kill()
"""
"""A command that ends after it has passed a number of bytes to another command."""
