"""The script of the demonstration: `python script.py SESSION`.

It appends entries, one by one, until its standard input ends, and prints the id of each when the daemon says
that it is on disk.
"""

import asyncio
import sys
from itertools import count

from sessiond.client import connect


async def main(session_id: str) -> None:
    told_to_stop = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    async with connect(name="script.py") as daemon:
        for number in count():
            entry = {"type": "custom", "customType": "demo", "data": {"number": number}}
            result = await daemon.append(session_id, [entry])
            print(result.entries[0].id, flush=True)
            if told_to_stop.done():
                break


asyncio.run(main(sys.argv[1]))
