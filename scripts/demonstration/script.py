"""The script of the demonstration: `python script.py SESSION`.

It appends 500 entries, one by one, and prints the id of each when the daemon says that it is on disk.
"""

import asyncio
import sys

from sessiond.client import connect


async def main(session_id: str) -> None:
    async with connect(name="script.py") as daemon:
        for number in range(500):
            entry = {"type": "custom", "customType": "demo", "data": {"number": number}}
            result = await daemon.append(session_id, [entry])
            print(result.entries[0].id, flush=True)


asyncio.run(main(sys.argv[1]))
