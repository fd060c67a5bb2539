/** A proxy of the test chain's node that passes requests on, except where a test spoils the response to a method. */
import type { ServerResponse } from "node:http"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { EvmTestChain } from "../src/testing/index.ts"
import * as HostileNode from "./HostileNode.ts"

/** Handles one request: `pass` sends it to the chain and returns the chain's response. */
export type Fault = (
  response: ServerResponse,
  request: HostileNode.NodeRequest,
  pass: () => Promise<string>
) => void | Promise<void>

/** The socket stays open and silent. */
export const silence: Fault = () => undefined

/** A load balancer's page instead of a response. */
export const page: Fault = (response) =>
  void response.writeHead(200, { "content-type": "text/html" }).end("<html>Service Unavailable</html>")

export const httpError: Fault = (response) => void response.writeHead(503).end()

/** The connection breaks before a response; the chain did not get the request. */
export const broken: Fault = (response) => void response.destroy()

/** The chain got the request, and its response gets lost. */
export const lostAnswer: Fault = async (response, _, pass) => {
  await pass()
  response.destroy()
}

/** A well-formed error. */
export const refusal =
  (code: number, message: string, data?: string): Fault =>
  (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } }))

/** A well-formed result of our own. */
export const result =
  (value: unknown): Fault =>
  (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }))

/** Accepts event requests of at most this number of blocks; a block by its hash is one. */
export const cappedLogs =
  (most: bigint): Fault =>
  async (response, request, pass) => {
    const { fromBlock = "0x0", toBlock = "0x0" } = Range(request.params[0])
    const isTooWide = BigInt(toBlock) - BigInt(fromBlock) + 1n > most
    if (isTooWide) return void refusal(-32_005, `exceed maximum block range: ${most}`)(response, request, pass)
    response.end(await pass())
  }

const Range = Schema.decodeUnknownSync(
  Schema.Struct({ fromBlock: Schema.optionalKey(Schema.String), toBlock: Schema.optionalKey(Schema.String) })
)

/** The chain's result with some of its fields changed; a `null` stays `null`. */
export const changed =
  (fields: Readonly<Record<string, unknown>>): Fault =>
  async (response, _, pass) => {
    const answer = Answer(await pass())
    const { result: was } = answer
    response.end(JSON.stringify({ ...answer, result: was === null ? null : { ...was, ...fields } }))
  }

const Answer = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      jsonrpc: Schema.String,
      id: Schema.Number,
      result: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
)

/** Starts the proxy. A fault holds for a number of requests of its method, by default for all. */
export const make = Effect.gen(function* () {
  const { rpcUrl } = yield* EvmTestChain.EvmTestChain
  const faults = new Map<string, { readonly fault: Fault; times: number }>()
  const requests: Array<HostileNode.NodeRequest> = []
  const node = yield* HostileNode.make(async (response, request) => {
    requests.push(request)
    const pass = async () => {
      const body = JSON.stringify({ jsonrpc: "2.0", ...request })
      const answer = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body })
      return answer.text()
    }
    const spoilt = faults.get(request.method)
    if (spoilt === undefined || spoilt.times-- <= 0) return void response.end(await pass())
    await spoilt.fault(response, request, pass)
  })
  return {
    url: node.url,
    /** Every request, in order. */
    requests,
    spoil: (method: string, fault: Fault, times = Number.POSITIVE_INFINITY) =>
      void faults.set(method, { fault, times }),
    mend: () => faults.clear()
  }
})

/** The proxy. */
export type RpcProxy = Effect.Success<typeof make>
