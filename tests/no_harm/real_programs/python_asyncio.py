import asyncio


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def ask(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    right = 0
    for i in range(300):
        writer.write(f"{name} {i}\n".encode())
        right += (await reader.readline()) == f"{name} {i}\n".upper().encode()
    writer.close()
    await writer.wait_closed()
    return right


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(ask(port, f"client{i}") for i in range(5))))
    child = await asyncio.create_subprocess_exec("sh", "-c", "sleep 0.1; echo child; exit 4",
                                                 stdout=asyncio.subprocess.PIPE)
    print(await child.communicate(), child.returncode)
    try:
        await asyncio.wait_for(asyncio.sleep(60), 0.1)
    except asyncio.TimeoutError:
        print("timed out")
    server.close()


asyncio.run(main())
