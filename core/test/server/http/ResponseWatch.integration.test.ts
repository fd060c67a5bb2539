import { once } from "node:events"
import { createServer as createServer1, type IncomingMessage, type ServerResponse } from "node:http"
import { connect as connect2, constants, createServer as createServer2, type Http2ServerResponse } from "node:http2"
import { type AddressInfo, connect, type Socket } from "node:net"

import { HeldResponse, ResponseWatch } from "@pontage/core"
import { afterEach, assert, describe, it } from "vitest"

const closing: Array<() => void> = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

type Handler = (response: ServerResponse | Http2ServerResponse, path: string) => void

interface Served {
  readonly port: number
  /** How the next response ended. */
  readonly ended: () => Promise<boolean>
  /** The next response has its watch. */
  readonly watched: () => Promise<void>
}

const queue = <A>() => {
  const values: Array<A> = []
  const takers: Array<(value: A) => void> = []
  return {
    put: (value: A) => {
      const taker = takers.shift()
      if (taker === undefined) values.push(value)
      else taker(value)
    },
    take: (): Promise<A> => {
      const [value] = values.splice(0, 1)
      return value === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(value)
    }
  }
}

const serve = async (version: 1 | 2, handler: Handler): Promise<Served> => {
  const ends = queue<boolean>()
  const watches = queue<boolean>()
  const server =
    version === 1
      ? createServer1((request: IncomingMessage, response: ServerResponse) => {
          ResponseWatch.watch(request, response, ends.put)
          watches.put(true)
          handler(response, request.url ?? "")
        })
      : createServer2((request, response) => {
          ResponseWatch.watch(request, response, ends.put)
          watches.put(true)
          handler(response, request.url)
        })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closing.push(() => server.close())
  const { port } = server.address() as AddressInfo
  return { port, ended: ends.take, watched: async () => void (await watches.take()) }
}

const open = (port: number): Socket => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  closing.push(() => socket.destroy())
  return socket
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const received = (socket: Socket, bytes: number): Promise<void> =>
  new Promise((resolve) => {
    let body = Buffer.alloc(0)
    socket.on("data", (chunk) => {
      body = Buffer.concat([body, chunk])
      const start = body.indexOf("\r\n\r\n")
      if (start !== -1 && body.length - start - 4 >= bytes) resolve()
    })
  })

/** Sends a part of what is announced, and goes on for ever. */
const part =
  (bytes: number, length?: number): Handler =>
  (response) => {
    if (length !== undefined) response.setHeader("Content-Length", length)
    ;(response as ServerResponse).write(Buffer.alloc(bytes))
  }

const kibi = 1024

const cuts: ReadonlyArray<readonly [string, number, number | undefined, boolean]> = [
  ["a little of a short answer", 300, 1000, false],
  ["most of a short answer", 900, 1000, true],
  ["a little of a long response", 40 * kibi, 1000 * kibi, false],
  ["enough of a long response", 80 * kibi, 1000 * kibi, true],
  ["a little of a response of unknown length", 40 * kibi, undefined, false],
  ["enough of a response of unknown length", 80 * kibi, undefined, true]
]

describe("a response over HTTP/1.1", () => {
  const ways = ["resetAndDestroy", "destroy"] as const
  it.each(ways.flatMap((cut) => cuts.map((row) => [cut, ...row] as const)))(
    "that is cut (%s) after %s",
    async (cut, _, bytes, length, delivered) => {
      const { ended, port } = await serve(1, part(bytes, length))
      const socket = open(port)
      socket.write(get("/"))
      await received(socket, bytes)
      socket[cut]()
      assert.strictEqual(await ended(), delivered)
    }
  )

  it("that is sent to its end is delivered", async () => {
    const { ended, port } = await serve(1, (response) => void (response as ServerResponse).end("hello"))
    const socket = open(port)
    socket.write(get("/"))
    assert.isTrue(await ended())
    socket.write(get("/again").replace("GET", "HEAD"))
    assert.isTrue(await ended())
  })

  it("that has not begun is not delivered, and is told of at once where the client has gone before", async () => {
    const { ended, port, watched } = await serve(1, () => {})
    const socket = open(port)
    socket.write(get("/"))
    await watched()
    socket.destroy()
    assert.isFalse(await ended())
  })

  it("that waits behind another one is told of when the connection closes", async () => {
    const { ended, port, watched } = await serve(1, (response, path) => {
      if (path === "/second") (response as ServerResponse).end("second")
      else part(path === "/first" ? kibi : 0, 100 * kibi)(response, path)
    })
    const socket = open(port)
    socket.write(get("/first") + get("/second") + get("/third"))
    await received(socket, kibi)
    await watched()
    await watched()
    await watched()
    socket.destroy()
    assert.deepStrictEqual([await ended(), await ended(), await ended()], [false, false, false])
  })
})

const connected = (port: number, windowSize = 1024 * kibi) => {
  const session = connect2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowSize } })
  session.on("error", () => {})
  closing.push(() => session.destroy())
  return session
}

describe("a response over HTTP/2", () => {
  const codes = [
    ["cancelled", constants.NGHTTP2_CANCEL],
    ["closed without an error", constants.NGHTTP2_NO_ERROR]
  ] as const
  const ways = [...codes, ["cut off with its connection", undefined]] as const

  it.each(ways.flatMap(([cut, code]) => cuts.map((row) => [cut, row[0], code, row] as const)))(
    "that is %s after %s",
    async (_cut, _after, code, [, bytes, length, delivered]) => {
      const { ended, port } = await serve(2, part(bytes, length))
      const session = connected(port)
      const stream = session.request({ ":path": "/" })
      stream.on("error", () => {})
      let count = 0
      await new Promise<void>((resolve) => {
        stream.on("data", (chunk: Buffer) => {
          count += chunk.length
          if (count >= bytes) resolve()
        })
      })
      if (code === undefined) session.destroy()
      else stream.close(code)
      assert.strictEqual(await ended(), delivered)
    }
  )

  it("that is sent to its end is delivered, with a body and without", async () => {
    const { ended, port } = await serve(2, (response) => void (response as Http2ServerResponse).end("hello"))
    const session = connected(port)
    session.request({ ":path": "/" }).resume()
    assert.isTrue(await ended())
    session.request({ ":path": "/", ":method": "HEAD" }).resume()
    assert.isTrue(await ended())
  })

  it.each(codes)("that has been produced, but was not let leave, is not delivered when it is %s", async (_, code) => {
    const { ended, port } = await serve(2, (response) => {
      response.setHeader("Content-Length", 1024 * kibi)
      ;(response as Http2ServerResponse).end(Buffer.alloc(1024 * kibi))
    })
    const stream = connected(port, 1000).request({ ":path": "/" })
    stream.on("error", () => {})
    await once(stream, "response")
    stream.close(code)
    assert.isFalse(await ended())
  })

  it.each(codes)("that has not begun is not delivered when it is %s", async (_, code) => {
    const { ended, port, watched } = await serve(2, () => {})
    const stream = connected(port).request({ ":path": "/" })
    stream.on("error", () => {})
    await watched()
    stream.close(code)
    assert.isFalse(await ended())
  })

  it.each(["held", "let go"] as const)(
    "that is %s in memory while its connection is busy is not delivered when it is cancelled",
    async (state) => {
      const held: Array<HeldResponse.HeldResponse> = []
      const { ended, port, watched } = await serve(2, (response, path) => {
        if (path === "/busy") return void (response as Http2ServerResponse).end(Buffer.alloc(512 * kibi))
        HeldResponse.hold(response, {
          ended: (one) => void held.push(one),
          overflowed: () => assert.fail("the response fits")
        })
        response.setHeader("Content-Length", 100 * kibi)
        ;(response as Http2ServerResponse).end(Buffer.alloc(100 * kibi))
      })
      const session = connected(port, 1000)
      // Its client takes nothing of the held response, and all of the other one.
      const stream = session.request({ ":path": "/held" })
      stream.on("error", () => {})
      await watched()
      const busy = session.request({ ":path": "/busy" })
      await once(busy.resume(), "end")
      assert.isTrue(await ended())
      const begun = once(stream, "response")
      if (state === "let go") {
        stream.pause()
        held[0]?.release()
        await begun
      }
      stream.close(constants.NGHTTP2_CANCEL)
      assert.isFalse(await ended())
    }
  )
})
