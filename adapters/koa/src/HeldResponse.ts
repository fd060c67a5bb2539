/**
 * Reads a response's stream into memory, up to a limit, before Koa begins to send it: one that breaks is an error of its handler
 * like every other, and nothing is charged for it.
 */
import { Readable, Stream } from "node:stream"

import { HeldBody, KeptResponse } from "@pontage/core"
import type { Context } from "koa"

/** Reads the body into memory, if it is a stream that Koa would send. */
export const hold = async (ctx: Context): Promise<void> => {
  if (ctx.headerSent || ctx.respond === false) return
  const stream = streamOf(ctx.body)
  if (stream === undefined) return
  ctx.body = await collect(stream)
  // Only a body whose length is not announced may have a trailer.
  if (ctx.res.hasHeader("Trailer")) ctx.remove("Content-Length")
}

const isStreamed = (body: unknown): boolean =>
  body instanceof Stream || body instanceof Blob || body instanceof ReadableStream || body instanceof Response

const streamOf = (body: unknown): Readable | undefined => {
  if (body instanceof Readable) return body
  if (body instanceof Stream) throw new HeldBody.NotHeld("a body that is not a readable stream cannot be held back")
  if (body instanceof Blob) return Readable.from(body.stream())
  if (body instanceof ReadableStream) return Readable.from(body)
  return body instanceof Response ? Readable.from(body.body ?? []) : undefined
}

const collect = async (stream: Readable): Promise<Buffer> => {
  const chunks = await HeldBody.chunksOf<string | Uint8Array>(stream, (chunk) => Buffer.byteLength(chunk))
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))
}

/**
 * The response of a client that has disconnected, as a response to keep; `undefined` if its handler sends it by itself,
 * or streams it: Koa destroys the stream of such a client.
 */
export const responseOf = (ctx: Context): KeptResponse.KeptResponse | undefined => {
  if (ctx.headerSent || ctx.respond === false || isStreamed(ctx.body)) return undefined
  const headers = Object.entries(ctx.response.headers).flatMap(
    ([name, value]): ReadonlyArray<KeptResponse.KeptHeader> =>
      value === undefined ? [] : [[name, typeof value === "number" ? `${value}` : value]]
  )
  return { status: ctx.status, headers: KeptResponse.lasting(headers), body: bytesOf(ctx.body) }
}

const bytesOf = (body: unknown): Uint8Array => {
  if (body === undefined || body === null) return new Uint8Array()
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
}
