import { createServer, type IncomingMessage, request } from "node:http"
import { connect, createServer as createServer2, type Http2ServerRequest } from "node:http2"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as UnreadBody from "../../../src/server/http/UnreadBody.ts"

const maximum = 1024 * 1024

/** The bytes that were read ahead, and those that the application found afterwards. */
interface Seen {
  readonly ahead: Uint8Array | string
  readonly again: Uint8Array | string
  readonly after: Uint8Array
}

type HostRequest = IncomingMessage | Http2ServerRequest

const look = async (stream: HostRequest): Promise<Uint8Array | string> => {
  if (!UnreadBody.isUnread(stream)) return "read already"
  const result = await Effect.runPromise(Effect.result(UnreadBody.bytesOf(stream, maximum)))
  return Result.isSuccess(result) ? result.success : result.failure._tag
}

/** As body parsers do: a listener for data, attached at once. */
const collect = (stream: HostRequest): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    stream.on("data", (chunk: Buffer) => chunks.push(chunk))
    stream.on("end", () => resolve(Buffer.concat(chunks)))
    stream.on("error", reject)
  })

const iterate = async (stream: HostRequest): Promise<Uint8Array> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

const serve = async (stream: HostRequest, read: typeof collect): Promise<Seen> => {
  const ahead = await look(stream)
  const again = await look(stream)
  return { ahead, again, after: await read(stream) }
}

type Send = (url: URL) => Promise<void>

const overHttp1 = async (send: Send, read: typeof collect): Promise<Seen> => {
  let seen: Promise<Seen> | undefined
  const server = createServer((req, res) => {
    seen = serve(req, read)
    void seen.finally(() => res.end())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    await send(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
    assert(seen !== undefined)
    return await seen
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const posting =
  (body: ReadonlyArray<Uint8Array>, headers: Record<string, string>): Send =>
  (url) =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, { method: "POST", headers }, (response) => {
        response.resume()
        response.on("end", resolve)
      })
      outgoing.on("error", reject)
      Readable.from(body).pipe(outgoing)
    })

const overHttp2 = async (body: ReadonlyArray<Uint8Array>, headers: Record<string, string>, read: typeof collect) => {
  let seen: Promise<Seen> | undefined
  const server = createServer2((req, res) => {
    seen = serve(req, read)
    void seen.finally(() => res.end())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  try {
    await new Promise<void>((resolve, reject) => {
      const stream = client.request({ ":method": "POST", ...headers })
      stream.on("end", resolve)
      stream.on("error", reject)
      stream.resume()
      Readable.from(body).pipe(stream)
    })
    assert(seen !== undefined)
    return await seen
  } finally {
    client.close()
    server.close()
  }
}

const bytes = (length: number, fill = 7): Uint8Array => Buffer.alloc(length, fill)
const one = [Buffer.from('{"pages":1}')]
const many = Array.from({ length: 14 }, (_, index) => bytes(65_000, index))

const bodies: Readonly<Record<string, ReadonlyArray<Uint8Array>>> = {
  "a short body": one,
  "a body in many parts": many,
  "a body of one byte": [bytes(1)],
  "a body of the longest length": [bytes(maximum)],
  "no bytes": []
}

for (const [reading, read] of Object.entries({ "a listener": collect, "an iterator": iterate })) {
  describe(`a body that was read ahead, then by ${reading}`, () => {
    for (const [name, body] of Object.entries(bodies)) {
      const whole = Buffer.concat(body)
      const sized = { "content-length": `${whole.length}` }
      const ways: Readonly<Record<string, () => Promise<Seen>>> = {
        "with its length": () => overHttp1(posting(body, sized), read),
        "in chunks": () => overHttp1(posting(body, { "transfer-encoding": "chunked" }), read),
        "over HTTP/2": () => overHttp2(body, {}, read),
        "over HTTP/2 with its length": () => overHttp2(body, sized, read)
      }
      for (const [way, send] of Object.entries(ways)) {
        it(`is whole: ${name}, ${way}`, async () => {
          const { after, again, ahead } = await send()
          assert.isTrue(whole.equals(Buffer.from(ahead)), "what was read ahead")
          assert.isTrue(whole.equals(Buffer.from(again)), "what was read ahead again")
          assert.isTrue(whole.equals(after), "what the application found")
        })
      }
    }
  })
}

describe("a body that cannot be read ahead", () => {
  it("is too long, and is all there for the application", async () => {
    const whole = Buffer.concat([bytes(maximum, 1), bytes(70_000, 2)])
    const { after, ahead } = await overHttp1(posting([whole], { "content-length": `${whole.length}` }), collect)
    assert.strictEqual(ahead, "BodyTooLong")
    assert.isTrue(whole.equals(after))
  })

  it("has been read", async () => {
    let unread: boolean | undefined
    await overHttp1(posting(one, {}), async (stream) => {
      const after = await collect(stream)
      unread = UnreadBody.isUnread(new Proxy(stream, {}))
      return after
    })
    assert.isFalse(unread)
  })

  it("breaks off", async () => {
    const ended = Promise.withResolvers<string | Uint8Array>()
    const server = createServer((req) => void look(req).then(ended.resolve))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const outgoing = request({
      port: (server.address() as AddressInfo).port,
      method: "POST",
      headers: { "content-length": "100" }
    })
    outgoing.on("error", () => undefined)
    outgoing.write("half of it", () => outgoing.destroy())
    assert.strictEqual(await ended.promise, "BodyLost")
    server.closeAllConnections()
    server.close()
  })
})
