/**
 * A request as it is written, byte for byte, which no client library would send.
 */
import { connect } from "node:net"

import * as Effect from "effect/Effect"

/** The parts of a request. Nothing is added but the length of the body and that the connection ends. */
export interface RawRequest {
  readonly target: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends it to the host and port of the URL, and reads the response as text until the connection ends. */
export const rawly = (url: string, { body = "", headers, method = "GET", target }: RawRequest): Effect.Effect<string> =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const chunks: Array<Buffer> = []
    const fields = {
      connection: "close",
      ...(body !== "" && { "content-length": `${Buffer.byteLength(body)}` }),
      ...headers
    }
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`)
  })
