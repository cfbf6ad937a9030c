"""A connection that is cut in mid-stream."""

CUT = """
import os, subprocess, sys
left, process = int(sys.argv[1]), subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
while left > 0 and (data := os.read(0, min(left, 65536))):
    process.stdin.write(data)
    process.stdin.flush()
    left -= len(data)
process.kill()
"""
"""A command that ends after so many bytes have gone through it to another command."""
